#include "compute/cuda/custom_kernels.hpp"

#include <string>

#include "compute/cuda/codegen.hpp"
#include "forebay/runtime/log.hpp"
#include "runtime/cuda/kernel_cache.hpp"

namespace forebay::cuda {
namespace {

/// What the driver says of an image that it could never load.
bool speaks_against_image(CUresult result) {
  return result == CUDA_ERROR_NO_BINARY_FOR_GPU || result == CUDA_ERROR_INVALID_IMAGE ||
         result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION || result == CUDA_ERROR_INVALID_PTX ||
         result == CUDA_ERROR_JIT_COMPILER_NOT_FOUND ||
         result == CUDA_ERROR_JIT_COMPILATION_DISABLED;
}

}  // namespace

CustomKernels::~CustomKernels() {
  if (!device_.enter()) return;
  for (const auto& [image, module] : modules_) {
    if (module != nullptr) device_.api().cuModuleUnload(module);
  }
  device_.counters().kernels.loaded.fetch_sub(loaded_, std::memory_order_relaxed);
}

CUfunction CustomKernels::function(const compute::CustomKernel& kernel) {
  const auto found = functions_.find(&kernel);
  if (found != functions_.end()) return found->second;
  CUfunction function = kernel.cuda_image.empty() ? nullptr : load(kernel);
  if (function == nullptr) {
    function = device_.kernels().get(with_prelude(kernel.cuda_source), kernel.name);
  }
  functions_.emplace(&kernel, function);
  return function;
}

CUfunction CustomKernels::load(const compute::CustomKernel& kernel) {
  const driver::CudaApi& api = device_.api();
  const RelaxedCapture relaxed(api);
  const std::byte* const image = kernel.cuda_image.data();
  auto place = modules_.find(image);
  if (place == modules_.end()) {
    CUmodule module = nullptr;
    const CUresult result = api.cuModuleLoadData(&module, image);
    if (speaks_against_image(result)) {
      module = nullptr;
      log(LogLevel::warn, std::string(kernel.name) + " is compiled on " + device_.id() +
                              ", since the driver does not take the one of this build");
    } else {
      check(api, result, "cuModuleLoadData of a custom kernel");
    }
    place = modules_.emplace(image, module).first;
  }
  if (place->second == nullptr) return nullptr;
  CUfunction function = nullptr;
  check(api, api.cuModuleGetFunction(&function, place->second, kernel.name), "cuModuleGetFunction");
  // Modules load lazily: without this, the first launch would.
  check(api, api.cuFuncLoad(function), "cuFuncLoad");
  ++loaded_;
  device_.counters().kernels.loaded.fetch_add(1, std::memory_order_relaxed);
  return function;
}

}  // namespace forebay::cuda
