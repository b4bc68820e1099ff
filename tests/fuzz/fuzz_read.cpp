// Any content: gzip, forebay.trace, pickle, RMM or CSV, whichever it looks like.
#include <cstdint>
#include <string_view>

#include "forebay/pool/error.hpp"
#include "forebay/pool/trace.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  forebay::pool::TraceOptions options;
  options.max_bytes = std::size_t{4} << 20;
  try {
    const forebay::pool::Trace trace =
        forebay::pool::parse_trace({reinterpret_cast<const char*>(data), size}, "FILE", options);
    if (trace.events.empty()) __builtin_trap();
    if (forebay::pool::parse_trace(forebay::pool::encode_trace(trace), "FILE").events !=
        trace.events) {
      __builtin_trap();
    }
  } catch (const forebay::TraceError& error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) __builtin_trap();
  }
  return 0;
}
