// The stream on which large uploads pass by the work that is enqueued already.
#pragma once

#include <cuda.h>

#include <cstddef>

#include "forebay/runtime/stream.hpp"
#include "runtime/cuda/cuda_device.hpp"

namespace forebay::cuda {

/// A copy on the stream of the work would wait for all of that work, and once the ring of transfers
/// is full of such copies, the host would wait with them. On a stream of its own it waits only for
/// who used the memory last, which the pool sees to.
///
/// Thread safety: none; the backend's calls are serialised.
/// Cost of an upload on it: two driver calls more, about 2 us, and memory that the stream of the
/// work has freed costs a point or a wait of the device before it is used.
class UploadStream {
 public:
  explicit UploadStream(CudaDevice& device) : device_(device) {}
  ~UploadStream();
  UploadStream(const UploadStream&) = delete;
  UploadStream& operator=(const UploadStream&) = delete;

  /// For `bytes` of uploads: this stream, or `work` itself if they are too few or the configuration
  /// says so. Throws DriverError.
  [[nodiscard]] Stream choose(std::size_t bytes, const Stream& work);
  /// What is enqueued on `stream` from now on comes after what `other` was given so far.
  void join(const Stream& stream, const Stream& other) noexcept;

 private:
  CudaDevice& device_;
  Stream stream_;  // made at first use
  CUevent event_ = nullptr;
};

}  // namespace forebay::cuda
