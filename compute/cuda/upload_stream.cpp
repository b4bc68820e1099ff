#include "compute/cuda/upload_stream.hpp"

namespace forebay::cuda {
namespace {

// Below this the copy takes less time than the calls.
constexpr std::size_t kLeastBytes = std::size_t{1} << 20;

}  // namespace

UploadStream::~UploadStream() {
  const bool alive = device_.enter();
  for (CUevent event : {joined_, reached_[0], reached_[1]}) {
    if (event == nullptr) continue;
    if (alive) device_.api().cuEventDestroy(event);
    device_.counters().events.fetch_sub(1, std::memory_order_relaxed);
  }
}

void UploadStream::prepare() {
  for (CUevent* event : {&joined_, &reached_[0], &reached_[1]}) {
    if (*event != nullptr) continue;
    check(device_.api(), device_.api().cuEventCreate(event, CU_EVENT_DISABLE_TIMING),
          "cuEventCreate");
    device_.counters().events.fetch_add(1, std::memory_order_relaxed);
  }
  if (!stream_) stream_ = device_.create_stream();
}

Stream UploadStream::choose(std::size_t bytes, const Stream& work) {
  if (bytes <= kLeastBytes || !device_.config().upload.overlap) return work;
  device_.make_current();
  // Waiting for our own events must not end a capture of somebody else's.
  const RelaxedCapture relaxed(device_.api());
  prepare();
  keep_pace(bytes, work);
  return stream_;
}

void UploadStream::keep_pace(std::size_t bytes, const Stream& work) {
  bytes_ += bytes;
  if (bytes_ < device_.config().upload.ring_bytes) return;
  const driver::CudaApi& api = device_.api();
  if (marked_[turn_]) check(api, api.cuEventSynchronize(reached_[turn_]), "cuEventSynchronize");
  check(api, api.cuEventRecord(reached_[turn_], native(work)), "cuEventRecord");
  marked_[turn_] = true;
  turn_ = 1 - turn_;
  bytes_ = 0;
}

void UploadStream::join(const Stream& stream, const Stream& other) noexcept {
  if (stream.id() == other.id() || !device_.enter()) return;
  const driver::CudaApi& api = device_.api();
  const RelaxedCapture relaxed(api);
  if (api.cuEventRecord(joined_, native(other)) != CUDA_SUCCESS ||
      api.cuStreamWaitEvent(native(stream), joined_, CU_EVENT_WAIT_DEFAULT) != CUDA_SUCCESS) {
    api.cuStreamSynchronize(native(other));
  }
}

}  // namespace forebay::cuda
