// The content of device and pinned memory, for debug modes of their pools.
#pragma once

#include <memory>

#include "forebay/pool/memory_tools.hpp"
#include "runtime/cuda/context.hpp"
#include "runtime/cuda/cuda_timeline.hpp"

namespace forebay::cuda {

/// Works on the streams that a timeline knows. Refuses while the stream captures: what was put into
/// a graph would run each time that the graph does.
/// Thread safety: any thread.
class CudaTools final : public pool::MemoryTools {
 public:
  /// `host_visible`: the host writes the memory too and does not wait for streams, so a fill has to
  /// be done when it returns.
  CudaTools(std::shared_ptr<const Context> context, std::shared_ptr<const CudaTimeline> timeline,
            bool host_visible)
      : context_(std::move(context)), timeline_(std::move(timeline)), host_visible_(host_visible) {}

  bool fill(pool::Address address, std::size_t bytes, std::uint8_t value,
            pool::StreamId stream) noexcept override;
  bool read(pool::Address address, std::size_t bytes, pool::StreamId stream,
            void* to) noexcept override;

 private:
  /// Null if no work may be given to the stream now.
  [[nodiscard]] CUstream usable(pool::StreamId stream) const noexcept;

  const std::shared_ptr<const Context> context_;
  const std::shared_ptr<const CudaTimeline> timeline_;
  const bool host_visible_;
};

}  // namespace forebay::cuda
