// From content to the reader that it is for.
#include <string>

#include "pool/trace/builder.hpp"
#include "pool/trace/readers.hpp"

namespace forebay::pool {
namespace {

bool is_blank(std::string_view content) noexcept {
  return content.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

// Of a beginning: an endless file of something else is not read until memory runs out.
bool may_be_trace(std::string_view beginning) noexcept {
  return looks_like_gzip(beginning) || looks_like_forebay(beginning) ||
         looks_like_pickle(beginning) || looks_like_rmm(beginning) || looks_like_csv(beginning) ||
         is_blank(beginning);
}

}  // namespace

Trace parse_trace(std::string_view content, std::string_view name, const TraceOptions& options) {
  if (content.size() > options.max_bytes) {
    fail_trace(name, "more than " + std::to_string(options.max_bytes) +
                         " bytes, which is too much for a trace");
  }
  std::string inflated;
  if (looks_like_gzip(content)) {
    inflated = gunzip(content, name, options.max_bytes);
    content = inflated;
  }
  if (looks_like_forebay(content)) return read_forebay(content, name, options);
  if (looks_like_pickle(content)) return read_torch(content, name, options);
  if (looks_like_rmm(content)) return read_rmm(content, name);
  if (looks_like_csv(content)) return read_csv(content, name);
  if (is_blank(content)) {
    fail_trace(name, "0 events; a trace has at least one alloc");
  }
  fail_trace(name, "no trace begins with " + quoted(content.substr(0, 12)) +
                       "; allowed are forebay.trace, CSV with the columns "
                       "time_us,action,id,size,stream, RMM's CSV log and PyTorch's snapshot");
}

Trace read_trace(const std::string& file, const TraceOptions& options) {
  return parse_trace(file_content(file, options.max_bytes, may_be_trace), file, options);
}

}  // namespace forebay::pool
