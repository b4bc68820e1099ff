// Events of a forebay.trace whose checksums hold: three bytes of counts, then the payload.
#include <cstdint>
#include <string_view>

#include "forebay/pool/error.hpp"
#include "forebay/pool/trace.hpp"
#include "pool/trace/forebay_format.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const forebay::pool::TraceCounts counts{data[0], data[1], data[2], 0};
  const std::string content =
      forebay::pool::seal_trace(counts, {reinterpret_cast<const char*>(data) + 3, size - 3});
  try {
    const forebay::pool::Trace trace = forebay::pool::parse_trace(content, "FILE");
    if (trace.events.size() != counts.events) __builtin_trap();
  } catch (const forebay::TraceError& error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) __builtin_trap();
  }
  return 0;
}
