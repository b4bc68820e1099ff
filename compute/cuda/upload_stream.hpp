// The stream on which large uploads pass by the work that is enqueued already.
#pragma once

#include <cuda.h>

#include <array>
#include <cstddef>

#include "forebay/runtime/stream.hpp"
#include "runtime/cuda/cuda_device.hpp"

namespace forebay::cuda {

/// A copy on the stream of the work would wait for all of that work, and once the ring of transfers
/// is full of such copies, the host would wait with them. On a stream of its own it waits only for
/// who used the memory last, which the pool sees to.
///
/// So that memory for uploads does not grow while the host runs ahead of the work, an upload waits
/// until the work has come to where the host was two rings' worth of uploads before, or two uploads
/// where each has more: what is uploaded and not yet worked on is bounded.
///
/// Thread safety: none; the backend's calls are serialised.
/// Cost of an upload on it: up to three driver calls more, about 3 us, and memory that the stream
/// of the work has freed costs a point or a wait of the device before it is used.
class UploadStream {
 public:
  explicit UploadStream(CudaDevice& device) : device_(device) {}
  ~UploadStream();
  UploadStream(const UploadStream&) = delete;
  UploadStream& operator=(const UploadStream&) = delete;

  /// For `bytes` of uploads: this stream, or `work` itself if they are too few or the configuration
  /// says so. Waits as above. Throws DriverError.
  [[nodiscard]] Stream choose(std::size_t bytes, const Stream& work);
  /// What is enqueued on `stream` from now on comes after what `other` was given so far, which the
  /// host waits for if the device cannot. Nothing if they are one.
  void join(const Stream& stream, const Stream& other) noexcept;

 private:
  void prepare();
  void keep_pace(std::size_t bytes, const Stream& work);

  CudaDevice& device_;
  Stream stream_;  // made at first use, as the events
  CUevent joined_ = nullptr;
  std::array<CUevent, 2> reached_{};  // where the work was given an upload, in turns
  std::array<bool, 2> marked_{};
  std::size_t turn_ = 0;
  std::size_t bytes_ = 0;  // uploaded since the last mark
};

}  // namespace forebay::cuda
