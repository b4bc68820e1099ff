// The same job with larger or smaller blocks.
#include <algorithm>
#include <string>
#include <utility>

#include "forebay/pool/error.hpp"
#include "forebay/pool/trace.hpp"

namespace forebay::pool {

Trace scaled(Trace trace, double factor) {
  std::vector<std::uint64_t> sizes(trace.blocks, 0);
  std::uint64_t live = 0;
  trace.peak_requested = 0;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    TraceEvent& event = trace.events[i];
    std::uint64_t& size = sizes[event.block];
    if (event.action == TraceAction::free) live -= size;
    if (event.action != TraceAction::alloc || event.size == 0) continue;
    const double bytes = factor * static_cast<double>(event.size);
    if (bytes > static_cast<double>(kMaxTraceBlock)) {
      throw TraceError("event " + std::to_string(i + 1) + ": a block of " +
                       std::to_string(event.size) +
                       " bytes, scaled, has more than 2^48; scale by less");
    }
    size = event.size = std::max<std::uint64_t>(static_cast<std::uint64_t>(bytes), 1);
    if (__builtin_add_overflow(live, size, &live)) {
      throw TraceError("event " + std::to_string(i + 1) +
                       ": the live blocks, scaled, have more than 2^64 bytes together; scale by "
                       "less");
    }
    trace.peak_requested = std::max(trace.peak_requested, live);
  }
  return trace;
}

}  // namespace forebay::pool
