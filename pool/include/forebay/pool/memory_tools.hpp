// How a pool reaches the content of its memory; only its debug modes do.
#pragma once

#include <cstddef>
#include <cstdint>

#include "forebay/pool/memory_source.hpp"
#include "forebay/pool/timeline.hpp"

namespace forebay::pool {

/// Writes and reads memory in the order of a stream. A call that cannot be made now (the stream is
/// capturing, the driver refuses) answers false and has done nothing; the pool then goes without.
/// Thread safety: every call may be made from any thread, concurrently.
class MemoryTools {
 public:
  MemoryTools() = default;
  MemoryTools(const MemoryTools&) = delete;
  MemoryTools& operator=(const MemoryTools&) = delete;
  virtual ~MemoryTools() = default;

  /// Sets `bytes` bytes to `value` after everything that `stream` was given so far. Where the host
  /// writes the memory directly (the host's own, pinned memory) they are set on return.
  virtual bool fill(Address address, std::size_t bytes, std::uint8_t value,
                    StreamId stream) noexcept = 0;
  /// Waits for everything that `stream` was given so far and copies `bytes` bytes to `to`.
  virtual bool read(Address address, std::size_t bytes, StreamId stream, void* to) noexcept = 0;
};

}  // namespace forebay::pool
