// Records what a pool is asked, in a ring.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "forebay/pool/memory_source.hpp"
#include "forebay/pool/timeline.hpp"
#include "forebay/pool/trace.hpp"

namespace forebay::pool {

/// Remembers the last events of a pool, as many as fit into so many bytes, and the blocks that were
/// live before the oldest of them.
///
/// Invariants: (1) an allocation is recorded after the pool made it and a free before the pool
/// carries it out, so that the events about one address are in order whatever threads do; (2)
/// `before_` is the live set at the oldest event of the ring: an event that leaves the ring is
/// applied to it.
/// Memory: the ring, and an entry of a hash table for each block that is older than the ring.
/// Thread safety: any thread. Cost of an event: a lock, a clock reading and 32 bytes.
class TraceRecorder {
 public:
  /// `ring_bytes` for the ring, at least one event.
  explicit TraceRecorder(std::size_t ring_bytes);

  void allocated(Address address, std::size_t size, std::size_t alignment, StreamId stream);
  void used(Address address, StreamId stream);
  /// The number of the event, for `take_back`.
  [[nodiscard]] std::uint64_t freeing(Address address, StreamId stream);
  /// The pool refused that free.
  void take_back(std::uint64_t event);

  /// The live set at the oldest event as a prologue, then the events. Throws TraceError when there
  /// are none.
  [[nodiscard]] Trace trace() const;
  /// Host memory of the ring, and of the blocks that are older than it.
  [[nodiscard]] std::size_t metadata_bytes() const;

 private:
  enum class What : std::uint8_t { alloc, free, use, nothing };
  struct Event {
    std::uint64_t time_us;
    Address address;
    StreamId stream;
    std::uint64_t size : 48;  // at most kMaxTraceBlock - 1; no pool has as much
    std::uint64_t alignment_log2 : 8;
    What what : 8;
  };
  static_assert(sizeof(Event) == 32);
  struct Block {
    std::uint64_t number;  // of its alloc, which orders the prologue
    std::uint64_t size;
    StreamId stream;
    std::uint8_t alignment_log2;
    std::vector<StreamId> uses;
  };
  std::uint64_t push(Event event);
  void apply(std::uint64_t number, const Event& event);

  const std::size_t capacity_;  // events
  const std::chrono::steady_clock::time_point start_;
  mutable std::mutex mutex_;
  // mutex_ guards what follows.
  std::unique_ptr<Event[]> ring_;  // event n is at n % capacity_
  std::uint64_t next_ = 0;         // number of the next event
  std::unordered_map<Address, Block> before_;
};

}  // namespace forebay::pool
