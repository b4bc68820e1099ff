// The plain CSV of traces: time_us,action,id,size,stream.
#include <string>

#include "pool/trace/builder.hpp"
#include "pool/trace/lines.hpp"
#include "pool/trace/readers.hpp"

namespace forebay::pool {
namespace {

constexpr std::string_view kCsvHeader = "time_us,action,id,size,stream";

std::uint64_t number(const TraceBuilder& builder, std::string_view text, const char* column) {
  const auto value = whole<std::uint64_t>(text);
  if (!value) {
    builder.fail(std::string(column) + " is " + quoted(text) +
                 "; a whole number from 0 to 2^64 - 1 is allowed");
  }
  return *value;
}

void read_line(TraceBuilder& builder, std::string_view line) {
  std::array<std::string_view, 5> fields;
  if (!split(line, &fields)) {
    builder.fail("found " + quoted(line) + "; the five columns " + std::string(kCsvHeader) +
                 " are needed");
  }
  const auto [time, action, id, size, stream] = fields;
  const auto time_us = static_cast<std::int64_t>(number(builder, time, "time_us"));
  const std::uint64_t block = number(builder, id, "id");
  const std::uint64_t bytes = number(builder, size, "size");
  const std::uint64_t on = number(builder, stream, "stream");
  if (time_us < 0) builder.fail("time_us is " + quoted(time) + "; at most 2^62 is allowed");
  if (action == "alloc") {
    builder.alloc(time_us, block, bytes, on);
  } else if (action == "free") {
    builder.free(time_us, block, on);
  } else if (action == "use") {
    builder.use(time_us, block, on);
  } else {
    builder.fail("action is " + quoted(action) + "; alloc, free and use are allowed");
  }
}

}  // namespace

bool looks_like_csv(std::string_view content) noexcept {
  std::string_view line;
  if (!Lines(content).next(&line)) return false;
  std::array<std::string_view, 5> fields;
  // A header with a column that is missing is still one of ours, for the sake of the message.
  return line.substr(0, 7) == "time_us" ||
         (split(line, &fields) && whole<std::uint64_t>(fields[0]).has_value());
}

Trace read_csv(std::string_view content, std::string_view name) {
  TraceBuilder builder(name, "line", BlockNames::unique);
  Lines lines(content);
  bool first = true;
  for (std::string_view line; lines.next(&line); first = false) {
    builder.at(lines.number());
    if (first && line.substr(0, 7) == "time_us") {
      if (line != kCsvHeader) {
        builder.fail("the columns are " + quoted(line) + "; " + std::string(kCsvHeader) +
                     " are needed");
      }
      continue;
    }
    read_line(builder, line);
  }
  return builder.finish("csv");
}

}  // namespace forebay::pool
