// Allocation traces: what a job asked of its allocator, event by event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace forebay::pool {

enum class TraceAction : std::uint8_t {
  alloc,  ///< a block begins on a stream
  free,   ///< it ends on a stream
  use,    ///< from here on another stream uses it too
};
[[nodiscard]] std::string_view to_string(TraceAction action) noexcept;

/// One event. Blocks and streams are ordinals: block n is the one of the n-th alloc event, counted
/// from 0, and stream n is `Trace::streams[n]`.
struct TraceEvent {
  std::uint64_t time_us = 0;  ///< since the earliest event of the trace
  std::uint64_t size = 0;     ///< bytes requested; alloc only, 0 otherwise
  std::uint32_t block = 0;
  std::uint32_t stream = 0;
  TraceAction action = TraceAction::alloc;
  std::uint8_t alignment_log2 = 8;  ///< alloc only; 8, the pool's least, otherwise

  friend bool operator==(const TraceEvent&, const TraceEvent&) = default;
};

/// No block of a trace is larger, in bytes.
inline constexpr std::uint64_t kMaxTraceBlock = std::uint64_t{1} << 48;
/// A trace has at most so many events, and so many streams.
inline constexpr std::uint64_t kMaxTraceEvents = std::uint64_t{1} << 28;
inline constexpr std::uint64_t kMaxTraceStreams = std::uint64_t{1} << 20;

/// A valid trace: at least one event, every free and use names a block that is live there, and no
/// sum of live bytes overflows. A block without a free lives to the end.
struct Trace {
  std::string format;                  ///< of the file: "csv", "rmm", "torch" or "forebay"
  std::vector<TraceEvent> events;      ///< in the order in which they happened
  std::uint64_t prologue = 0;          ///< the first so many events are blocks live at its start
  std::uint64_t blocks = 0;            ///< alloc events
  std::vector<std::uint64_t> streams;  ///< the name that the job had for each stream
  std::uint64_t failures = 0;          ///< allocations that failed in the job; no events of theirs
  std::uint64_t peak_requested = 0;    ///< bytes
  std::uint64_t duration_us = 0;       ///< from the earliest event to the latest

  friend bool operator==(const Trace&, const Trace&) = default;
};

/// How to read a trace.
struct TraceOptions {
  /// The device whose events count, where a file has events of several.
  std::optional<std::uint32_t> device;
  /// Longer contents are refused, before and after decompression. Reading takes a small multiple.
  std::size_t max_bytes = std::size_t{2} << 30;
};

/// Reads a trace, plain or compressed by gzip. What the content looks like decides about the
/// format, never the file's name: forebay's own (docs/traces.md), CSV with the columns
/// time_us,action,id,size,stream, the log of RMM's logging adaptor, or the memory snapshot of
/// PyTorch as a pickle, of which nothing is executed. Throws TraceError: one line with the file,
/// the place in it, what is wrong and what is allowed.
[[nodiscard]] Trace read_trace(const std::string& file, const TraceOptions& options = {});
/// The same from memory; `name` stands for the file in messages.
[[nodiscard]] Trace parse_trace(std::string_view content, std::string_view name,
                                const TraceOptions& options = {});
/// The same job with every block `factor` times as large, rounded down but no less than a byte:
/// what it might ask for with a larger batch or a smaller model. Blocks of no bytes stay so. Throws
/// TraceError if a block would have more than kMaxTraceBlock bytes, or the live ones more than 2^64
/// together. REQUIRES: `trace` is valid, `factor` above 0 and finite.
[[nodiscard]] Trace scaled(Trace trace, double factor);
/// The trace in forebay's own format. What `parse_trace` makes of it equals `trace`, but for its
/// `format`. REQUIRES: `trace` is valid.
[[nodiscard]] std::string encode_trace(const Trace& trace);

}  // namespace forebay::pool
