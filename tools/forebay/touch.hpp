// Writing on replayed blocks, to see whether anybody else has them too.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "forebay/runtime/device.hpp"

namespace forebay::tools {

/// Stamps blocks with a number of their own, on their streams, and checks it there later: four
/// bytes in every 256, the least that a pool hands out, so that no two blocks overlap unseen. It
/// orders streams as the job of a trace must have: whoever uses or frees a block on a stream waits
/// there for the stream that wrote it. It takes no memory from the pool that is replayed.
/// Not thread-safe. Errors are DriverErrors; what is found wrong waits for `finish`.
class Touch {
 public:
  Touch() = default;
  Touch(const Touch&) = delete;
  Touch& operator=(const Touch&) = delete;
  virtual ~Touch() = default;

  /// Work on `stream` writes the stamp. `stream` counts in the list that the touch was made with.
  virtual void stamp(void* block, std::uint64_t bytes, std::uint32_t number,
                     std::uint32_t stream) = 0;
  /// Work on `stream`, after what `writer` was given so far, checks the stamp.
  virtual void check(void* block, std::uint64_t bytes, std::uint32_t number, std::uint32_t stream,
                     std::uint32_t writer) = 0;
  /// Waits for all of it. The number of a block whose stamp was lost, if there was one.
  [[nodiscard]] virtual std::optional<std::uint32_t> finish() = 0;
};

/// A touch for a device whose memory is there; null for a simulated one.
[[nodiscard]] std::unique_ptr<Touch> make_touch(Device& device, const std::vector<Stream>& streams);

}  // namespace forebay::tools
