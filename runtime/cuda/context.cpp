#include "runtime/cuda/context.hpp"

#include <utility>

namespace forebay::cuda {

Context::Context(std::shared_ptr<const driver::CudaApi> api, CUdevice device)
    : api_(std::move(api)), device_(device) {
  check(*api_, api_->cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain");
  retained_.store(true, std::memory_order_release);
}

Context::~Context() { release(); }

bool Context::enter() const noexcept {
  if (!retained_.load(std::memory_order_acquire) || !api_->usable()) {
    return false;
  }
  CUcontext current = nullptr;
  if (api_->cuCtxGetCurrent(&current) != CUDA_SUCCESS) {
    return false;  // CUDA_ERROR_DEINITIALIZED among others
  }
  return current == context_ || api_->cuCtxSetCurrent(context_) == CUDA_SUCCESS;
}

void Context::release() noexcept {
  if (!enter() || !retained_.exchange(false)) {
    return;
  }
  // A later context of this device may have the same address; this thread must not take the dead
  // one for it.
  api_->cuCtxSetCurrent(nullptr);
  api_->cuDevicePrimaryCtxRelease(device_);
}

}  // namespace forebay::cuda
