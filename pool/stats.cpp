#include "forebay/pool/stats.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <utility>

namespace forebay::pool {
namespace {

// JSON -------------------------------------------------------------------------------------------

void write(std::string& out, Count value) { out += std::to_string(value); }

void write(std::string& out, double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", std::isfinite(value) ? value : 0.0);
  out += text;
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

void combine(Merge, double&, double) {}
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

// Size classes and orders of the same bytes become one; streams of two pools stay apart.
template <typename Element>
void combine(Merge, std::vector<Element>& into, const std::vector<Element>& other) {
  for (const Element& element : other) {
    if constexpr (std::is_same_v<Element, StreamStats>) {
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

Count stranded(const PoolStats& stats) {
  Count sum = 0;
  for (const StreamStats& stream : stats.streams) sum += stream.stranded;
  return sum;
}

// Free bytes that no part explains: mapped, but the source would neither open nor unmap them.
Count stuck(const PoolStats& stats) {
  const Count parts = stats.fragmentation.free_in_ranges + stranded(stats) + stats.slab.tails;
  return stats.free.current - std::min(stats.free.current, parts);
}

void fragmentation(Table& table, const PoolStats& stats) {
  const FragmentationStats& found = stats.fragmentation;
  table.head("free by place", "bytes", "");
  table.line("", "in ranges for everyone", found.free_in_ranges);
  table.line("+", "stranded with streams", stranded(stats));
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
  table.head("memory", "bytes", "peak");
  table.line("", "requested", stats.requested.current, stats.requested.peak);
  table.line("+", "rounding",
             stats.allocated.current - std::min(stats.allocated.current, stats.requested.current),
             0, false);
  table.line("=", "allocated", stats.allocated.current, stats.allocated.peak);
  table.line("+", "pending", stats.pending.current, stats.pending.peak);
  table.line("+", "free", stats.free.current, stats.free.peak);
  table.line("=", "mapped", stats.mapped.current, stats.mapped.peak);
  table.line("+", "idle handles", stats.idle_handles.current, stats.idle_handles.peak);
  table.line("=", "held", stats.held.current, stats.held.peak);
  table.line("", "capacity", stats.capacity);
  table.line("", "host metadata", stats.host_metadata);

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

std::string check_identities(const PoolStats& stats) {
  Count stream_allocated = 0;
  Count stream_pending = 0;
  for (const StreamStats& stream : stats.streams) {
    stream_allocated += stream.allocated;
    stream_pending += stream.pending;
  }
  Count by_class = 0;
  Count class_pages = 0;
  for (const SlabClassStats& of : stats.slab.classes) {
    by_class += of.bytes * of.used;
    class_pages += of.pages;
  }
  Count served = 0;
  LadderStats::each_field([&](const char*, Merge, const Tally& tally) { served += tally.count; },
                          stats.ladder);
  const Count in_mapped = stats.allocated.current + stats.pending.current + stats.free.current;
  struct Identity {
    const char* text;
    Count left, right;
    bool at_most;
  };
  const Identity identities[] = {
      {"requested <= allocated", stats.requested.current, stats.allocated.current, true},
      {"allocated + pending + free = mapped", in_mapped, stats.mapped.current, false},
      {"mapped + idle handles = held", stats.mapped.current + stats.idle_handles.current,
       stats.held.current, false},
      {"held <= capacity", stats.held.current, stats.capacity, true},
      {"slab + buddy + span = mapped", stats.slab.mapped + stats.buddy.mapped + stats.span.mapped,
       stats.mapped.current, false},
      {"slab + buddy + span = allocated",
       stats.slab.allocated + stats.buddy.allocated + stats.span.allocated, stats.allocated.current,
       false},
      {"live + frees = total", stats.allocations.live + stats.allocations.frees,
       stats.allocations.total, false},
      {"allocations by rung = total", served, stats.allocations.total, false},
      {"allocated of streams = allocated", stream_allocated, stats.allocated.current, false},
      {"pending of streams = pending", stream_pending, stats.pending.current, false},
      {"free in ranges + stranded + ends of slab pages <= free",
       stats.fragmentation.free_in_ranges + stranded(stats) + stats.slab.tails, stats.free.current,
       true},
      {"the largest free range <= free", stats.fragmentation.largest_free, stats.free.current,
       true},
      {"slab blocks by class = slab allocated", by_class, stats.slab.allocated, false},
      {"slab pages by class = slab pages", class_pages, stats.slab.pages, false},
      {"requested <= its peak", stats.requested.current, stats.requested.peak, true},
      {"allocated <= its peak", stats.allocated.current, stats.allocated.peak, true},
      {"mapped <= its peak", stats.mapped.current, stats.mapped.peak, true},
      {"held <= its peak", stats.held.current, stats.held.peak, true},
      {"peak of held <= capacity", stats.held.peak, stats.capacity, true},
  };
  for (const Identity& identity : identities) {
    const bool holds =
        identity.at_most ? identity.left <= identity.right : identity.left == identity.right;
    if (!holds) {
      return std::string(identity.text) + " does not hold: " + std::to_string(identity.left) +
             " and " + std::to_string(identity.right);
    }
  }
  return {};
}

}  // namespace forebay::pool
