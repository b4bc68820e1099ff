#include "pool/trace/builder.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "forebay/pool/error.hpp"

namespace forebay::pool {
namespace {

// Of times, so that no difference of two overflows: 146,000 years.
constexpr std::int64_t kMaxTime = std::int64_t{1} << 62;

}  // namespace

std::string_view to_string(TraceAction action) noexcept {
  switch (action) {
    case TraceAction::alloc:
      return "alloc";
    case TraceAction::free:
      return "free";
    case TraceAction::use:
      return "use";
  }
  return "unknown";
}

void fail_trace(std::string_view name, const std::string& what) {
  throw TraceError(std::string(name) + ": " + what);
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kMost = 40;
  std::string out = "'";
  for (const char c : text.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7F) {
      out += c;
    } else {
      char escape[5];
      std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned>(byte));
      out += escape;
    }
  }
  return out + (text.size() > kMost ? "...'" : "'");
}

TraceBuilder::TraceBuilder(std::string_view name, const char* unit, BlockNames names)
    : name_(name), unit_(unit), names_(names) {}

void TraceBuilder::fail(const std::string& what) const {
  fail_trace(name_, std::string(unit_) + " " + std::to_string(place_) + ": " + what);
}

std::string TraceBuilder::shown(std::uint64_t block) const {
  if (names_ == BlockNames::unique) return "block " + std::to_string(block);
  char text[32];
  std::snprintf(text, sizeof text, "address 0x%llx", static_cast<unsigned long long>(block));
  return text;
}

void TraceBuilder::alloc(std::int64_t time_us, std::uint64_t block, std::uint64_t size,
                         std::uint64_t stream, std::uint8_t alignment_log2) {
  if (size > kMaxTraceBlock) {
    fail(std::to_string(size) + " bytes are too many; a block has at most 2^48 bytes");
  }
  const auto [found, is_new] = blocks_.try_emplace(block);
  Block& entry = found->second;
  if (!is_new && (entry.live || names_ == BlockNames::unique)) {
    fail("alloc of " + shown(block) + ", which " +
         (entry.live ? "is live since " : "was freed in ") + unit_ + " " +
         std::to_string(entry.place) +
         (names_ == BlockNames::unique ? "; the number of a block is never used again"
                                       : "; an address may come again only after its free"));
  }
  if (__builtin_add_overflow(live_bytes_, size, &live_bytes_)) {
    fail("the live blocks have more than 2^64 bytes together");
  }
  entry = {size, place_, static_cast<std::uint32_t>(trace_.blocks), true};
  push(time_us, {0, size, entry.ordinal, 0, TraceAction::alloc, alignment_log2}, stream);
  ++trace_.blocks;
  trace_.peak_requested = std::max(trace_.peak_requested, live_bytes_);
}

void TraceBuilder::free(std::int64_t time_us, std::uint64_t block, std::uint64_t stream) {
  Block& entry = live_block(block, "free");
  entry.live = false;
  entry.place = place_;
  live_bytes_ -= entry.size;
  push(time_us, {0, 0, entry.ordinal, 0, TraceAction::free}, stream);
}

void TraceBuilder::use(std::int64_t time_us, std::uint64_t block, std::uint64_t stream) {
  const Block& entry = live_block(block, "use");
  push(time_us, {0, 0, entry.ordinal, 0, TraceAction::use}, stream);
}

TraceBuilder::Block& TraceBuilder::live_block(std::uint64_t block, const char* action) {
  const auto found = blocks_.find(block);
  if (found == blocks_.end()) {
    fail(std::string(action) + " of " + shown(block) +
         ", which was never allocated; an alloc must come before it");
  }
  if (!found->second.live) {
    fail(std::string(action) + " of " + shown(block) + ", which was freed in " + unit_ + " " +
         std::to_string(found->second.place) + "; nothing may follow a free");
  }
  return found->second;
}

void TraceBuilder::push(std::int64_t time_us, TraceEvent event, std::uint64_t stream) {
  if (trace_.events.size() == kMaxTraceEvents) {
    fail("more than " + std::to_string(kMaxTraceEvents) + " events; cut the trace into pieces");
  }
  if (time_us > kMaxTime || time_us < -kMaxTime) {
    fail("a time of " + std::to_string(time_us) + " us; at most 2^62 are allowed");
  }
  if (streams_.empty() || stream != last_stream_) {
    const auto [found, is_new] =
        streams_.try_emplace(stream, static_cast<std::uint32_t>(trace_.streams.size()));
    if (is_new) {
      if (trace_.streams.size() == kMaxTraceStreams) {
        fail("more than " + std::to_string(kMaxTraceStreams) + " streams");
      }
      trace_.streams.push_back(stream);
    }
    last_stream_ = stream;
    last_ordinal_ = found->second;
  }
  event.stream = last_ordinal_;
  event.time_us = static_cast<std::uint64_t>(time_us);
  earliest_ = std::min(earliest_, time_us);
  latest_ = std::max(latest_, time_us);
  trace_.events.push_back(event);
}

void TraceBuilder::end_prologue() {
  if (trace_.blocks != trace_.events.size()) {
    fail("the blocks that live at the start end here, and not all of the events were allocs");
  }
  trace_.prologue = trace_.blocks;
}

Trace TraceBuilder::finish(const char* format) {
  if (trace_.events.empty()) {
    fail_trace(name_, "0 events; a trace has at least one alloc");
  }
  for (TraceEvent& event : trace_.events) event.time_us -= static_cast<std::uint64_t>(earliest_);
  trace_.duration_us = static_cast<std::uint64_t>(latest_ - earliest_);
  trace_.format = format;
  return std::move(trace_);
}

}  // namespace forebay::pool
