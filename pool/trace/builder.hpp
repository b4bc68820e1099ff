// Builds a trace event by event and refuses what cannot have happened.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "forebay/pool/trace.hpp"

namespace forebay::pool {

/// Whether a block's name in a file may come again after the block was freed: addresses do,
/// numbers do not.
enum class BlockNames : std::uint8_t { unique, reused };

/// Every reader feeds one of these. Blocks and streams come by the names that the file has for
/// them and leave as ordinals. Times may come in any order.
/// Errors are TraceErrors "NAME: UNIT PLACE: …", where `place` is set before each event.
/// Cost: one hash look-up an event; memory goes with the events.
class TraceBuilder {
 public:
  /// `unit` is what places count: "line", "event".
  TraceBuilder(std::string_view name, const char* unit, BlockNames names);

  void at(std::uint64_t place) noexcept { place_ = place; }
  void alloc(std::int64_t time_us, std::uint64_t block, std::uint64_t size, std::uint64_t stream,
             std::uint8_t alignment_log2 = 8);
  void free(std::int64_t time_us, std::uint64_t block, std::uint64_t stream);
  void use(std::int64_t time_us, std::uint64_t block, std::uint64_t stream);
  /// An allocation that failed in the job.
  void failure() noexcept { ++trace_.failures; }
  void failures(std::uint64_t count) noexcept { trace_.failures = count; }
  /// Everything so far was live when the trace began; it may only have been allocs.
  void end_prologue();

  /// The trace. REQUIRES: called once, last.
  [[nodiscard]] Trace finish(const char* format);
  /// Throws a TraceError about the current place.
  [[noreturn]] void fail(const std::string& what) const;

 private:
  struct Block {
    std::uint64_t size = 0;
    std::uint64_t place = 0;  // of what happened to it last
    std::uint32_t ordinal = 0;
    bool live = false;
  };
  void push(std::int64_t time_us, TraceEvent event, std::uint64_t stream);
  Block& live_block(std::uint64_t block, const char* action);
  [[nodiscard]] std::string shown(std::uint64_t block) const;

  const std::string name_;
  const char* const unit_;
  const BlockNames names_;
  std::uint64_t place_ = 0;
  Trace trace_;
  std::unordered_map<std::uint64_t, Block> blocks_;
  std::unordered_map<std::uint64_t, std::uint32_t> streams_;
  std::uint64_t last_stream_ = 0;
  std::uint32_t last_ordinal_ = 0;
  std::uint64_t live_bytes_ = 0;
  std::int64_t earliest_ = INT64_MAX, latest_ = INT64_MIN;
};

/// "NAME: what", where no place in the file is to blame.
[[noreturn]] void fail_trace(std::string_view name, const std::string& what);

/// A piece of a file for a message: printable, at most about 40 characters, in quotes.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace forebay::pool
