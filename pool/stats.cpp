#include "forebay/pool/stats.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <utility>

#include "pool/gauge.hpp"
#include "pool/map_sum.hpp"

namespace forebay::pool {
namespace {

// JSON -------------------------------------------------------------------------------------------

void write(std::string& out, Count value) { out += std::to_string(value); }

void write(std::string& out, double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", std::isfinite(value) ? value : 0.0);
  out += text;
}

// Words; what else a document may have had there becomes '?'.
void write(std::string& out, const std::string& word) {
  out += '"';
  for (const char c : word) out += c >= ' ' && c < 0x7F && c != '"' && c != '\\' ? c : '?';
  out += '"';
}

template <typename Value>
void write(std::string& out, const std::map<std::uint64_t, Value>& histogram) {
  out += '{';
  for (const auto& [key, value] : histogram) {
    if (out.back() != '{') out += ", ";
    out += '"' + std::to_string(key) + "\": ";
    write(out, value);
  }
  out += '}';
}

template <typename Struct>
requires std::is_class_v<Struct>
void write(std::string& out, const Struct& fields);

template <typename Element>
void write(std::string& out, const std::vector<Element>& elements) {
  out += '[';
  for (const Element& element : elements) {
    if (&element != &elements.front()) out += ", ";
    write(out, element);
  }
  out += ']';
}

template <typename Struct>
requires std::is_class_v<Struct>
void write(std::string& out, const Struct& fields) {
  out += '{';
  Struct::each_field(
      [&out](const char* name, Merge, const auto& field) {
        if (out.back() != '{') out += ", ";
        out += '"';
        out += name;
        out += "\": ";
        write(out, field);
      },
      fields);
  out += '}';
}

// Merge ------------------------------------------------------------------------------------------

void combine(Merge how, Count& into, Count other) {
  into = how == Merge::largest ? std::max(into, other) : into + other;
}

void combine(Merge how, double& into, double other) {
  if (how == Merge::largest) into = std::max(into, other);
}
void combine(Merge, Shares&, const Shares&) {}

void combine(Merge, Histogram& into, const Histogram& other) {
  for (const auto& [key, value] : other) into[key] += value;
}

template <typename Element>
void combine(Merge, std::vector<Element>& into, const std::vector<Element>& other);

template <typename Struct>
requires std::is_class_v<Struct>
void combine(Merge, Struct& into, const Struct& other) {
  Struct::each_field(
      [](const char*, Merge how, auto& left, const auto& right) { combine(how, left, right); },
      into, other);
}

// Size classes and orders of the same bytes become one; streams and ranges of two pools stay apart.
template <typename Element>
void combine(Merge, std::vector<Element>& into, const std::vector<Element>& other) {
  for (const Element& element : other) {
    if constexpr (std::is_same_v<Element, StreamStats> || std::is_same_v<Element, MapRange>) {
      into.push_back(element);
    } else {
      const auto same = std::find_if(into.begin(), into.end(),
                                     [&](const Element& e) { return e.bytes == element.bytes; });
      if (same == into.end()) {
        into.push_back(element);
      } else {
        combine(Merge::join, *same, element);
      }
    }
  }
}

// Table ------------------------------------------------------------------------------------------

class Table {
 public:
  void line(const char* sign, const char* label, Count value, Count peak, bool with_peak = true) {
    char text[128];
    const int length = with_peak
                           ? std::snprintf(text, sizeof text, "%1s %-22s %20llu %20llu\n", sign,
                                           label, static_cast<unsigned long long>(value),
                                           static_cast<unsigned long long>(peak))
                           : std::snprintf(text, sizeof text, "%1s %-22s %20llu\n", sign, label,
                                           static_cast<unsigned long long>(value));
    text_.append(text, static_cast<std::size_t>(length));
  }
  void line(const char* sign, const char* label, Count value) {
    line(sign, label, value, 0, false);
  }
  /// An amount, its peak and when that was; `dated` where the statistics know.
  template <typename Amount>
  void amount(const char* sign, const char* label, const Amount& of, bool dated) {
    line(sign, label, of.current, of.peak);
    if (!dated) return;
    char text[32];
    const int length = std::snprintf(text, sizeof text, " %12.3f\n", of.peak_at_s);
    text_.pop_back();
    text_.append(text, static_cast<std::size_t>(length));
  }
  /// A third column for `amount`.
  void head_of_dates(const char* third) {
    text_.pop_back();
    text_.append(13 - std::strlen(third), ' ').append(third).append("\n");
  }
  void head(const char* title, const char* first, const char* second) {
    char text[128];
    const int length =
        std::snprintf(text, sizeof text, "%s%-24s %20s%s%s\n", text_.empty() ? "" : "\n", title,
                      first, *second == 0 ? "" : " ", second);
    text_.append(text, static_cast<std::size_t>(length));
    // The second column is right-aligned like the numbers below it.
    if (*second != 0) {
      text_.resize(text_.size() - std::strlen(second) - 1);
      text_.append(20 - std::strlen(second), ' ').append(second).append("\n");
    }
  }
  void share(const char* label, double part) {
    char text[64];
    const int length = std::snprintf(text, sizeof text, "  %-22s %18.1f %%\n", label, 100 * part);
    text_.append(text, static_cast<std::size_t>(length));
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// Free bytes that no part explains: mapped, but the source would neither open nor unmap them.
Count stuck(const PoolStats& stats) {
  const Count parts = stats.fragmentation.free_in_ranges + stats.stranded() + stats.slab.tails;
  return stats.free.current - std::min(stats.free.current, parts);
}

void map(Table& table, const PoolStats& stats) {
  if (stats.map.empty()) return;
  table.head("map", "bytes", "ranges");
  MapSum all;
  const auto line = [&](const char* label, const char* client, const char* state) {
    const MapSum sum = sum_of_map(stats, client, state);
    table.line("+", label, sum.bytes, sum.ranges);
    all.bytes += sum.bytes;
    all.ranges += sum.ranges;
  };
  line("blocks of their own", "span", "used");
  line("pending blocks", "span", "pending");
  line("free ranges", "span", "free");
  line("stuck ranges", "span", "stuck");
  line("slab pages", "slab", "");
  line("buddy chunks", "buddy", "");
  line("idle handles", "handle", "");
  table.line("=", stats.map_left_out == 0 ? "held" : "listed", all.bytes, all.ranges);
  if (stats.map_left_out > 0) table.line("", "ranges left out", stats.map_left_out);
}

void fragmentation(Table& table, const PoolStats& stats) {
  const FragmentationStats& found = stats.fragmentation;
  table.head("free by place", "bytes", "");
  table.line("", "in ranges for everyone", found.free_in_ranges);
  table.line("+", "stranded with streams", stats.stranded());
  table.line("+", "ends of slab pages", stats.slab.tails);
  table.line("+", "stuck", stuck(stats));
  table.line("=", "free", stats.free.current);
  table.line("", "largest free range", found.largest_free);

  table.head("fragmentation", "share", "");
  table.share("internal", found.internal);
  table.share("external", found.external);
  for (const auto& [bytes, share] : found.external_for) {
    table.share(("external for " + std::to_string(bytes >> 20) + " MiB").c_str(), share);
  }
  table.share("realised at peak", found.realized_at_peak);
}

}  // namespace

const char* stats_clock_name() noexcept { return CoarseClock::kName; }
double stats_clock_resolution_s() noexcept { return CoarseClock::resolution_s(); }

Count PoolStats::stranded() const noexcept {
  Count sum = 0;
  for (const StreamStats& stream : streams) sum += stream.stranded;
  return sum;
}

Count PoolStats::driver_calls() const noexcept {
  Count sum = 0;
  DriverStats::each_field(
      [&sum](const char*, Merge, const CallStats& calls) { sum += calls.count; }, driver);
  return sum;
}

Count PoolStats::driver_us() const noexcept {
  Count sum = 0;
  DriverStats::each_field([&sum](const char*, Merge, const CallStats& calls) { sum += calls.us; },
                          driver);
  return sum;
}

std::string to_json(const PoolStats& stats) {
  std::string out;
  write(out, stats);
  return out;
}

std::string to_table(const PoolStats& stats) {
  Table table;
  const bool dated = stats.age_s > 0;
  table.head("memory", "bytes", "peak");
  if (dated) table.head_of_dates("at s");
  table.amount("", "requested", stats.requested, dated);
  table.line("+", "rounding",
             stats.allocated.current - std::min(stats.allocated.current, stats.requested.current));
  table.amount("=", "allocated", stats.allocated, dated);
  table.amount("+", "pending", stats.pending, dated);
  table.amount("+", "free", stats.free, dated);
  table.amount("=", "mapped", stats.mapped, dated);
  table.amount("+", "idle handles", stats.idle_handles, dated);
  table.amount("=", "held", stats.held, dated);
  table.line("", "capacity", stats.capacity);
  table.line("", "host metadata", stats.host_metadata);
  map(table, stats);

  table.head("mapped by engine", "mapped", "allocated");
  table.line("", "slab", stats.slab.mapped, stats.slab.allocated);
  table.line("+", "buddy", stats.buddy.mapped, stats.buddy.allocated);
  table.line("+", "span", stats.span.mapped, stats.span.allocated);
  table.line("=", "all", stats.mapped.current, stats.allocated.current);

  fragmentation(table, stats);

  if (!stats.slab.classes.empty()) {
    table.head("slab pages of blocks of", "allocated", "pages");
    for (const SlabClassStats& of : stats.slab.classes) {
      table.line("+", std::to_string(of.bytes).c_str(), of.bytes * of.used, of.pages);
    }
    table.line("=", "all", stats.slab.allocated, stats.slab.pages);
  }

  table.head("allocations", "count", "");
  table.line("", "live", stats.allocations.live);
  table.line("+", "freed", stats.allocations.frees);
  table.line("=", "total", stats.allocations.total);
  table.line("", "failed", stats.allocations.failed);

  const auto tallies = [&table](const char* name, Merge, const auto& tally) {
    table.line("+", name, tally.count, tally.us);
  };
  table.head("served by", "allocations", "microseconds");
  LadderStats::each_field(tallies, stats.ladder);
  table.line("=", "total", stats.allocations.total);
  table.head("driver calls", "count", "microseconds");
  DriverStats::each_field(tallies, stats.driver);
  table.line("=", "all", stats.driver_calls(), stats.driver_us());
  table.head("waits", "count", "");
  table.line("", "device synchronisations", stats.device_syncs);
  table.line("", "host waits", stats.host_waits);
  table.head("misuse", "count", "");
  ErrorStats::each_field(
      [&table](const char* name, Merge, Count count) { table.line("", name, count); },
      stats.errors);
  if (!stats.streams.empty()) table.head("streams", "allocated", "pending");
  for (const StreamStats& stream : stats.streams) {
    table.line("+", std::to_string(stream.id).c_str(), stream.allocated, stream.pending);
  }
  if (!stats.streams.empty()) {
    table.line("=", "all", stats.allocated.current, stats.pending.current);
  }
  return table.take();
}

void derive(PoolStats& stats) {
  const auto ratio = [](Count part, Count whole) {
    return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
  };
  const Count allocated = stats.allocated.current;
  stats.fragmentation.internal =
      allocated == 0 ? 0.0 : 1.0 - ratio(stats.requested.current, allocated);
  stats.fragmentation.realized_at_peak =
      stats.requested.peak == 0 ? 0.0 : ratio(stats.held.peak, stats.requested.peak) - 1.0;
  FragmentationStats& found = stats.fragmentation;
  const Count free = found.free_in_ranges;
  found.external = free == 0 ? 0.0 : 1.0 - ratio(std::min(found.largest_free, free), free);
  for (const auto& [bytes, below] : found.free_below) {
    found.external_for[bytes] = ratio(std::min(below, free), free);
  }
}

void merge(PoolStats& into, const PoolStats& other) {
  combine(Merge::add, into, other);
  derive(into);
}

}  // namespace forebay::pool
