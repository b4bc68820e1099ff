#include "runtime/cuda/cuda_tools.hpp"

namespace forebay::cuda {

using pool::Address;
using pool::StreamId;

CUstream CudaTools::usable(StreamId stream) const noexcept {
  return !context_->enter() || timeline_->capturing(stream) ? nullptr : timeline_->native(stream);
}

bool CudaTools::fill(Address address, std::size_t bytes, std::uint8_t value,
                     StreamId stream) noexcept {
  const CUstream on = usable(stream);
  if (on == nullptr) {
    return false;
  }
  const driver::CudaApi& api = context_->api();
  // Another thread's capture must not end because of this.
  const RelaxedCapture relaxed(api);
  return api.cuMemsetD8Async(address, value, bytes, on) == CUDA_SUCCESS &&
         (!host_visible_ || api.cuStreamSynchronize(on) == CUDA_SUCCESS);
}

bool CudaTools::read(Address address, std::size_t bytes, StreamId stream, void* to) noexcept {
  const CUstream on = usable(stream);
  if (on == nullptr) {
    return false;
  }
  const driver::CudaApi& api = context_->api();
  const RelaxedCapture relaxed(api);
  return api.cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(to), address, bytes, on) == CUDA_SUCCESS &&
         api.cuStreamSynchronize(on) == CUDA_SUCCESS;
}

}  // namespace forebay::cuda
