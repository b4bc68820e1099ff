#include "compute/cuda/interpreter_kernels.hpp"

namespace forebay::cuda {

InterpreterKernels::InterpreterKernels(CudaDevice& device, std::span<const std::byte> image)
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
  check(api, api.cuModuleLoadData(&module_, image.data()),
        "cuModuleLoadData of the interpreter kernels");
  try {
    find_functions();
  } catch (const DriverError&) {
    api.cuModuleUnload(module_);
    throw;
  }
  device_.counters().kernels.loaded.fetch_add(kInterpreterKernels, std::memory_order_relaxed);
}

void InterpreterKernels::find_functions() {
  const driver::CudaApi& api = device_.api();
  for (unsigned k = 0; k < kInterpreterKernels; ++k) {
    const auto kernel = static_cast<InterpreterKernel>(k);
    CUfunction& function = functions_[k];
    check(api, api.cuModuleGetFunction(&function, module_, interpreter_entry(kernel)),
          "cuModuleGetFunction");
    // Modules load lazily: without this, the first launch would.
    check(api, api.cuFuncLoad(function), "cuFuncLoad");
    const bool reduces =
        kernel == InterpreterKernel::reduce || kernel == InterpreterKernel::reduce_large;
    check(api,
          api.cuFuncSetAttribute(
              function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
              static_cast<int>(shared_limit_ - (reduces ? kInterpreterFoldBytes : 0))),
          "cuFuncSetAttribute");
  }
}

InterpreterKernels::~InterpreterKernels() {
  if (!device_.enter()) return;
  device_.api().cuModuleUnload(module_);
  device_.counters().kernels.loaded.fetch_sub(kInterpreterKernels, std::memory_order_relaxed);
}

const char* interpreter_entry(InterpreterKernel kernel) noexcept {
  static constexpr const char* kNames[kInterpreterKernels] = {
      "forebay_interpret_map", "forebay_interpret_reduce", "forebay_interpret_map_large",
      "forebay_interpret_reduce_large"};
  return kNames[static_cast<std::size_t>(kernel)];
}

}  // namespace forebay::cuda
