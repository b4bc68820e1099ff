// What debug modes and leak tracing know of live blocks, beside the pool's own books.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "forebay/pool/leaks.hpp"
#include "forebay/pool/memory_tools.hpp"
#include "forebay/pool/pool.hpp"
#include "pool/call_stack.hpp"

namespace forebay::pool {

/// Exists only in a pool that has any of this switched on. It knows nothing of where blocks lie.
///
/// Everything here is bounded by what is live: records of live blocks, and a quarantine of at most
/// so many bytes. Thread safety: every call may be made from any thread.
class BlockWatch {
 public:
  // Bytes that memory is filled with. 0xFF makes a NaN of every floating type, so that what was
  // never written spoils a result visibly; 0xEF makes huge negative numbers and no valid pointer.
  static constexpr std::uint8_t kFresh = 0xFF, kFreed = 0xEF, kCanary = 0xCA;

  /// A block that was freed but is kept from being used again.
  struct Quarantined {
    Address address = 0;
    StreamId stream = 0;  // of the free
    std::size_t bytes = 0;
    bool filled = false, guarded = false;
  };

  /// How a free goes on.
  struct Leave {
    Misuse misuse = Misuse::none;  // other than `none`: nothing has changed …
    bool overrun = false;          // … but for this, after which the block is freed all the same
    bool quarantined = false;      // nothing is left to do but to let others out of quarantine
    bool guarded = false;
  };

  static bool wanted(const PoolConfig& config) noexcept {
    return config.debug_fill || config.debug_canary > 0 || config.debug_guard_sample > 0 ||
           config.debug_quarantine > 0 || config.leak_stacks != StackMode::off;
  }

  /// Null if nothing of this is on. Throws ConfigError if it is but cannot work without `tools`.
  static std::unique_ptr<BlockWatch> make(const PoolConfig& config,
                                          std::shared_ptr<MemoryTools> tools);

  BlockWatch(const PoolConfig& config, std::shared_ptr<MemoryTools> tools);

  /// Whether it is the next allocation's turn to stand against unmapped memory.
  [[nodiscard]] bool guard_turn() noexcept;
  /// Bytes that the pool adds to each block for the canary.
  [[nodiscard]] std::size_t margin() const noexcept { return config_.debug_canary; }

  /// A block was allocated; nobody but the caller knows it yet. `tail` bytes behind it are ours.
  void enter(Address address, std::size_t bytes, std::size_t tail, StreamId stream, const char* tag,
             bool guarded);
  /// A block is about to be freed on `stream`. No lock of the pool is held.
  [[nodiscard]] Leave leave(Address address, std::size_t bytes, StreamId stream) noexcept;
  /// Other streams use the block too: it cannot be written in the order of one of them. Whether it
  /// was freed already.
  [[nodiscard]] Misuse share(Address address) noexcept;

  /// The oldest block in quarantine if more than `keep` bytes are there. It has to be ended and
  /// then freed. With `stream`, only one that was freed there.
  [[nodiscard]] std::optional<Quarantined> discharge(std::size_t keep,
                                                     const StreamId* stream = nullptr) noexcept;
  /// Ends the record of a block that was discharged. Whether it still looks as it did when it was
  /// freed.
  [[nodiscard]] bool end(const Quarantined& block) noexcept;
  [[nodiscard]] std::size_t quarantine_limit() const noexcept { return config_.debug_quarantine; }

  /// What this thread's last damaged block was, if it was at `address`: where the first changed
  /// byte is, and how the block came to be. Empty if it was another one.
  [[nodiscard]] std::string damage(Address address) const;

  /// Splits what is live, by tag, further into places of allocation. `live` comes from the pool's
  /// books; blocks in quarantine are taken off.
  [[nodiscard]] LeakReport report(std::vector<LeakGroup> live) const;
  void count(DebugStats& stats) const;
  [[nodiscard]] std::size_t metadata_bytes() const;
  /// Forgets every block.
  void clear();

 private:
  struct Record {
    std::size_t bytes = 0, tail = 0;
    const char* tag = nullptr;
    StreamId stream = 0;
    std::uint64_t number = 0;         // among recorded allocations
    std::uint64_t stands_for = 0;     // bytes
    std::unique_ptr<CallStack> site;  // null if it was not taken
    bool guarded = false;
    bool canary = false;  // the tail was written
    bool shared = false;
    bool leaving = false;  // freed: a second free is one too many
    bool quarantined = false;
  };
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<Address, Record> records;  // mutex
  };
  static constexpr std::size_t kShards = 16;

  [[nodiscard]] Shard& shard(Address address) noexcept {
    return shards_[(address >> 8 ^ address >> 21) % kShards];
  }
  /// The bytes that a sampled allocation stands for; 0 if it is none.
  [[nodiscard]] std::uint64_t draw(std::size_t bytes);
  /// Offset of the first byte that is not `value`; `bytes` if all are; nothing if they cannot be
  /// read.
  [[nodiscard]] std::optional<std::size_t> first_other(Address address, std::size_t bytes,
                                                       std::uint8_t value,
                                                       StreamId stream) noexcept;
  bool fill(Address address, std::size_t bytes, std::uint8_t value, StreamId stream) noexcept;
  [[nodiscard]] std::size_t records() const;
  /// Takes a record out. Empty if there is none.
  [[nodiscard]] std::optional<Record> remove(Address address) noexcept;

  const PoolConfig config_;
  const std::shared_ptr<MemoryTools> tools_;
  const bool records_all_;
  std::array<Shard, kShards> shards_;

  mutable std::mutex quarantine_mutex_;
  std::deque<Quarantined> quarantine_;  // quarantine_mutex_
  std::size_t quarantined_bytes_ = 0;   // quarantine_mutex_

  std::mutex draw_mutex_;
  double until_sample_ = 0;                    // draw_mutex_; bytes
  std::uint64_t random_ = 0x9E3779B97F4A7C15;  // draw_mutex_
  std::atomic<std::uint64_t> turns_{0}, numbers_{0}, fills_{0}, checks_{0}, unchecked_{0};
  std::atomic<std::uint64_t> guarded_{0};
};

}  // namespace forebay::pool
