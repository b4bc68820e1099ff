#include "forebay/pool/stats.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <type_traits>

#include "pool/gauge.hpp"

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
