#include "compute/cuda/interpreter_kernels.hpp"

namespace forebay::cuda {

InterpreterKernels::InterpreterKernels(CudaDevice& device, const InterpreterImage& image)
    : device_(device) {
  device_.make_current();
  const driver::CudaApi& api = device_.api();
  const RelaxedCapture relaxed(api);
  CUdevice number = 0;
  int bytes = 0;
  check(api, api.cuDeviceGet(&number, device_.info().index), "cuDeviceGet");
  check(api,
        api.cuDeviceGetAttribute(&bytes, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
                                 number),
        "cuDeviceGetAttribute");
  shared_limit_ = static_cast<std::size_t>(bytes);
  constexpr const char* kCall = "cuModuleLoadData of the interpreter kernels";
  try {
    check(api, api.cuModuleLoadData(&words_, image.words.data()), kCall);
    check(api, api.cuModuleLoadData(&typed_, image.typed.data()), kCall);
    find_functions();
  } catch (const DriverError&) {
    unload();
    throw;
  }
  device_.counters().kernels.loaded.fetch_add(loaded_, std::memory_order_relaxed);
}

void InterpreterKernels::find_functions() {
  const driver::CudaApi& api = device_.api();
  for (unsigned n = 0; n < kParameterLengths * kInterpreterKernels; ++n) {
    const auto kernel = static_cast<InterpreterKernel>(n % kInterpreterKernels);
    const auto length = static_cast<ParameterLength>(n / kInterpreterKernels);
    if (!exists(kernel, length)) continue;
    CUfunction& function = functions_[n / kInterpreterKernels][n % kInterpreterKernels];
    check(api,
          api.cuModuleGetFunction(&function, shares_functions(kernel) ? typed_ : words_,
                                  interpreter_entry(kernel, length).c_str()),
          "cuModuleGetFunction");
    // Modules load lazily: without this, the first launch would.
    check(api, api.cuFuncLoad(function), "cuFuncLoad");
    check(api,
          api.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                 static_cast<int>(shared_limit_ - kInterpreterStaticBytes)),
          "cuFuncSetAttribute");
    ++loaded_;
  }
}

InterpreterKernels::~InterpreterKernels() {
  if (!device_.enter()) return;
  unload();
  device_.counters().kernels.loaded.fetch_sub(loaded_, std::memory_order_relaxed);
}

void InterpreterKernels::unload() noexcept {
  if (words_ != nullptr) device_.api().cuModuleUnload(words_);
  if (typed_ != nullptr) device_.api().cuModuleUnload(typed_);
}

std::string interpreter_entry(InterpreterKernel kernel, ParameterLength length) {
  static constexpr const char* kNames[kInterpreterKernels] = {
      "forebay_interpret_map",          "forebay_interpret_reduce",
      "forebay_interpret_reduce_steps", "forebay_interpret_map_typed",
      "forebay_interpret_reduce_typed", "forebay_interpret_map_tiled",
      "forebay_interpret_map_large",    "forebay_interpret_reduce_large"};
  const std::string name = kNames[static_cast<std::size_t>(kernel)];
  return length == ParameterLength::brief ? name + "_brief" : name;
}

}  // namespace forebay::cuda
