// The pieces of forebay's own format, for tests that want one without its checksums in the way.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "forebay/pool/trace.hpp"

namespace forebay::pool {

/// What the header says about the events.
struct TraceCounts {
  std::uint64_t events = 0, prologue = 0, streams = 0, failures = 0;
};

/// Streams and events as bytes, not compressed.
[[nodiscard]] std::string trace_payload(const Trace& trace);
/// A file with this payload and header, with checksums that hold. Throws Error.
[[nodiscard]] std::string seal_trace(const TraceCounts& counts, std::string_view payload);

}  // namespace forebay::pool
