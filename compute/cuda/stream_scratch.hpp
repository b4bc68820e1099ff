// Device memory that the kernels of a stream lend each other.
#pragma once

#include <cstddef>
#include <list>
#include <memory>

#include "runtime/cuda/cuda_device.hpp"

namespace forebay::cuda {

/// Scratch memory for each stream, taken from the device's pool at first use. Kernels of one stream
/// run one after the other, so they can share it; kernels of different streams cannot.
///
/// Thread safety: none; the backend's calls are serialised.
/// Invariant: at most kStreams streams have memory here; the least recently used one's goes, unless
/// a graph shares it. A stream lives at least as long as its scratch memory.
class StreamScratch {
 public:
  static constexpr std::size_t kStreams = 16;

  explicit StreamScratch(CudaDevice& device) : device_(device) {}
  StreamScratch(const StreamScratch&) = delete;
  StreamScratch& operator=(const StreamScratch&) = delete;

  /// For reductions that are split: kSplitPartials totals of up to kMostPartial bytes, 0 between
  /// launches. Throws OutOfMemory, DriverError.
  [[nodiscard]] void* reduction(const Stream& stream);
  /// For matrix products: `matmul.workspace_bytes`. Throws OutOfMemory.
  [[nodiscard]] void* workspace(const Stream& stream);
  /// Owns what the stream has so far, with the others that do: for graphs, whose kernels use it
  /// whenever they are replayed.
  [[nodiscard]] std::shared_ptr<void> share(const Stream& stream);
  [[nodiscard]] std::size_t streams() const noexcept { return entries_.size(); }

 private:
  struct Entry {
    Stream stream;
    std::shared_ptr<void> reduction;
    std::shared_ptr<void> workspace;
  };
  Entry& entry(const Stream& stream);
  [[nodiscard]] std::shared_ptr<void> allocate(std::size_t bytes, const Stream& stream);

  CudaDevice& device_;
  std::list<Entry> entries_;  // most recently used first
};

}  // namespace forebay::cuda
