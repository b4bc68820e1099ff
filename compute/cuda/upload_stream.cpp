#include "compute/cuda/upload_stream.hpp"

namespace forebay::cuda {
namespace {

// Below this the copy takes less time than the two calls.
constexpr std::size_t kLeastBytes = std::size_t{1} << 20;

}  // namespace

UploadStream::~UploadStream() {
  if (event_ == nullptr) return;
  if (device_.enter()) device_.api().cuEventDestroy(event_);
  device_.counters().events.fetch_sub(1, std::memory_order_relaxed);
}

Stream UploadStream::choose(std::size_t bytes, const Stream& work) {
  if (bytes <= kLeastBytes || !device_.config().upload.overlap) return work;
  if (event_ == nullptr) {
    device_.make_current();
    check(device_.api(), device_.api().cuEventCreate(&event_, CU_EVENT_DISABLE_TIMING),
          "cuEventCreate");
    device_.counters().events.fetch_add(1, std::memory_order_relaxed);
  }
  if (!stream_) stream_ = device_.create_stream();
  return stream_;
}

void UploadStream::join(const Stream& stream, const Stream& other) noexcept {
  if (!device_.enter()) return;
  const driver::CudaApi& api = device_.api();
  // Neither call may end a capture of somebody else's.
  const RelaxedCapture relaxed(api);
  const auto before = native(other);
  if (api.cuEventRecord(event_, before) != CUDA_SUCCESS ||
      api.cuStreamWaitEvent(native(stream), event_, CU_EVENT_WAIT_DEFAULT) != CUDA_SUCCESS) {
    api.cuStreamSynchronize(before);
  }
}

}  // namespace forebay::cuda
