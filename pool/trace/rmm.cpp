// The log of RMM's logging adaptor: Thread,Time,Action,Pointer,Size,Stream.
#include <string>

#include "pool/trace/builder.hpp"
#include "pool/trace/lines.hpp"
#include "pool/trace/readers.hpp"

namespace forebay::pool {
namespace {

constexpr std::string_view kRmmHeader = "Thread,Time,Action,Pointer,Size,Stream";
constexpr std::int64_t kDay = std::int64_t{86'400} * 1'000'000;

/// Names of pointers and streams. glibc prints null as (nil), and 0x may be missing; what remains
/// is read as hexadecimal, since it only has to tell one from another.
std::uint64_t name_of(const TraceBuilder& builder, std::string_view text, const char* column) {
  std::string_view digits = text;
  if (digits == "(nil)") return 0;
  if (digits.substr(0, 2) == "0x" || digits.substr(0, 2) == "0X") digits.remove_prefix(2);
  const auto value = whole<std::uint64_t>(digits, 16);
  if (!value) {
    builder.fail(std::string(column) + " is " + quoted(text) +
                 "; a hexadecimal number or (nil) is allowed");
  }
  return *value;
}

/// Microseconds of "11:26:51.495099", "11:26:51:495099" or "1700000000.495099", where days do not
/// show. Up to six digits of a fraction count.
class Clock {
 public:
  std::int64_t read(const TraceBuilder& builder, std::string_view text) {
    const auto time = parse(text);
    if (!time) {
      builder.fail("Time is " + quoted(text) +
                   "; hours:minutes:seconds.microseconds or seconds since 1970 are allowed");
    }
    std::int64_t us = *time + days_ * kDay;
    // Threads may be out of order by a little; half a day back is midnight.
    if (us < last_ - kDay / 2) {
      ++days_;
      us += kDay;
    }
    last_ = us;
    return us;
  }

 private:
  static std::optional<std::int64_t> fraction(std::string_view text) {
    if (text.empty() || text.size() > 9) return std::nullopt;
    std::string six(text.substr(0, 6));
    six.append(6 - six.size(), '0');
    return whole<std::uint32_t>(text) ? whole<std::int64_t>(six) : std::nullopt;
  }
  static std::optional<std::int64_t> parse(std::string_view text) {
    std::array<std::int64_t, 3> parts{};
    std::size_t count = 0;
    std::string_view rest = text;
    std::optional<std::int64_t> micro = 0;
    while (count < 3) {
      const auto end = rest.find_first_of(".:");
      const auto part = whole<std::uint64_t>(rest.substr(0, end));
      if (!part || *part > 1'000'000'000'000) return std::nullopt;
      parts[count++] = static_cast<std::int64_t>(*part);
      if (end == std::string_view::npos) {
        rest = {};
        break;
      }
      const bool last = count == 3 || rest[end] == '.';
      rest.remove_prefix(end + 1);
      if (last) {
        micro = fraction(rest);
        break;
      }
    }
    if (!micro) return std::nullopt;
    if (count == 1) return parts[0] * 1'000'000 + *micro;
    if (count != 3 || parts[0] > 23 || parts[1] > 59 || parts[2] > 60) return std::nullopt;
    return ((parts[0] * 60 + parts[1]) * 60 + parts[2]) * 1'000'000 + *micro;
  }

  std::int64_t days_ = 0;
  std::int64_t last_ = INT64_MIN / 2;
};

void read_line(TraceBuilder& builder, Clock& clock, std::string_view line) {
  std::array<std::string_view, 6> fields;
  if (!split(line, &fields)) {
    builder.fail("found " + quoted(line) + "; the six columns " + std::string(kRmmHeader) +
                 " are needed");
  }
  const auto [thread, time, action, pointer, size, stream] = fields;
  const std::int64_t time_us = clock.read(builder, time);
  const std::uint64_t block = name_of(builder, pointer, "Pointer");
  const auto bytes = whole<std::uint64_t>(size);
  if (!bytes) {
    builder.fail("Size is " + quoted(size) + "; a whole number from 0 to 2^64 - 1 is allowed");
  }
  const std::uint64_t on = name_of(builder, stream, "Stream");
  if (action == "allocate failure") {
    builder.failure();
  } else if (action == "allocate") {
    // Null is what an allocation of nothing gives, and no block.
    if (block != 0) builder.alloc(time_us, block, *bytes, on);
  } else if (action == "free" || action == "deallocate") {
    if (block != 0) builder.free(time_us, block, on);
  } else {
    builder.fail("Action is " + quoted(action) +
                 "; allocate, allocate failure, free and deallocate are allowed");
  }
}

}  // namespace

bool looks_like_rmm(std::string_view content) noexcept {
  std::string_view line;
  if (!Lines(content).next(&line)) return false;
  if (line.substr(0, 7) == "Thread,") return true;
  std::array<std::string_view, 6> fields;  // a log whose header was cut off
  return split(line, &fields) && (fields[2].substr(0, 8) == "allocate" || fields[2] == "free");
}

Trace read_rmm(std::string_view content, std::string_view name) {
  TraceBuilder builder(name, "line", BlockNames::reused);
  Clock clock;
  Lines lines(content);
  for (std::string_view line; lines.next(&line);) {
    builder.at(lines.number());
    if (line.substr(0, 7) == "Thread,") {  // again where logs were joined
      if (line != kRmmHeader) {
        builder.fail("the columns are " + quoted(line) + "; " + std::string(kRmmHeader) +
                     " are needed");
      }
      continue;
    }
    read_line(builder, clock, line);
  }
  return builder.finish("rmm");
}

}  // namespace forebay::pool
