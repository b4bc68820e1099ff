#include "tools/forebay/stats_table.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string_view>

#include "forebay/pool/error.hpp"
#include "tools/forebay/output.hpp"

namespace forebay::tools {
namespace {

/// Fields that a document of forebay.stats/1 may have beside those that it must have, by the ends
/// of their paths.
constexpr std::string_view kBeside =
    "timeline span/extents driver/reserve driver/unreserve driver/allocate_region "
    "driver/free_region max_us fragmentation/external fragmentation/external_for "
    "fragmentation/free_in_ranges fragmentation/granule_occupancy slab/tails slab/blocks "
    "buddy/blocks stranded waits p999 max latency_ns/miss miss_path locks debug "
    "errors/buffer_overrun errors/use_after_free errors/no_host_memory peak_at_s pool/age_s "
    "pool/map "
    "pool/map_left_out";

bool may_lack(std::string_view path) {
  for (std::string_view left = kBeside; !left.empty();) {
    const std::size_t end = std::min(left.find(' '), left.size());
    if (path.ends_with("/" + std::string(left.substr(0, end)))) return true;
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return false;
}

/// Fills a struct of pool/stats.hpp from the list of its fields.
class Filler {
 public:
  Filler(const JsonDocument& document, const std::string& name)
      : document_(document), name_(name) {}

  template <typename Struct>
  void fill(const std::string& pointer, Struct& target) const {
    Struct::each_field(
        [&](std::string_view field, pool::Merge /*merge*/, auto& value) {
          const std::string place = pointer + "/" + std::string(field);
          if (document_.json(place) != "null") return fill(place, value);
          if (!may_lack(place)) refuse(place, "value");
        },
        target);
  }
  void fill(const std::string& pointer, pool::Count& target) const {
    target = required(document_.count(pointer), pointer, "whole number");
  }
  void fill(const std::string& pointer, double& target) const {
    target = required(document_.number(pointer), pointer, "number");
  }
  void fill(const std::string& pointer, std::string& target) const {
    target = required(document_.text(pointer), pointer, "text");
  }
  template <typename Value>
  void fill(const std::string& pointer, std::map<std::uint64_t, Value>& target) const {
    if (!document_.is_object(pointer)) refuse(pointer, "object");
    for (const std::string& key : document_.members(pointer)) {
      std::uint64_t number = 0;
      const char* end = key.data() + key.size();
      const auto [stop, error] = std::from_chars(key.data(), end, number);
      if (error != std::errc{} || stop != end || std::to_string(number) != key) {
        throw Error("'" + name_ + "' has the key '" + key + "' at " + pointer +
                    ", where every forebay.stats/1 has whole numbers");
      }
      fill(pointer + "/" + key, target[number]);
    }
  }
  template <typename Item>
  void fill(const std::string& pointer, std::vector<Item>& target) const {
    if (!document_.is_array(pointer)) refuse(pointer, "list");
    target.resize(document_.size(pointer));
    for (std::size_t i = 0; i < target.size(); ++i) {
      fill(pointer + "/" + std::to_string(i), target[i]);
    }
  }

 private:
  template <typename T>
  T required(std::optional<T> found, const std::string& pointer, const char* what) const {
    if (!found) refuse(pointer, what);
    return *found;
  }
  [[noreturn]] void refuse(const std::string& pointer, const char* what) const {
    throw Error("'" + name_ + "' has no " + what + " at " + pointer +
                ", where every forebay.stats/1 has one");
  }

  const JsonDocument& document_;
  const std::string& name_;
};

/// The plain values of an object, a line each; objects inside it with their path.
void append_object(const JsonDocument& document, const std::string& pointer,
                   const std::string& label, std::string& text) {
  for (const std::string& key : document.members(pointer)) {
    const std::string place = pointer + "/" + key;
    const std::string path = label.empty() ? key : label + "." + key;
    if (!document.members(place).empty()) {
      append_object(document, place, path, text);
      continue;
    }
    char line[160];
    std::snprintf(line, sizeof line, "  %-22s %20s\n", printable(path).c_str(),
                  printable(document.json(place)).c_str());
    text += line;
  }
}

std::string line(const char* sign, const std::string& label, const std::string& value) {
  char text[160];
  std::snprintf(text, sizeof text, "%1s %-22s %20s\n", sign, label.c_str(), value.c_str());
  return text;
}

/// What was dumped, when, and by whom.
std::string heading(const JsonDocument& document, const pool::PoolStats& stats) {
  const auto word = [&document](const char* pointer, const char* otherwise) {
    return printable(document.text(pointer).value_or(otherwise));
  };
  std::string text = "device " + word("/device/kind", "unknown") + ":" +
                     printable(document.json("/device/index")) + " (" +
                     word("/device/name", "unnamed") + ") at " + word("/time", "an unknown time") +
                     "\n";
  if (document.text("/version")) {
    text += "forebay " + word("/version", "") + ", configuration " +
            word("/config_hash", "unknown") + "\n";
  }
  if (stats.age_s > 0) {
    char age[64];
    std::snprintf(age, sizeof age, "%.3f s after the pool was made\n", stats.age_s);
    text += age;
  }
  return text;
}

/// The memory of the device, other processes included; empty where a dump does not tell.
std::string device_memory(const JsonDocument& document) {
  const auto total = document.count("/device/total"), free = document.count("/device/free");
  if (!total || !free || *free > *total) return {};
  return "device memory                           bytes\n" +
         line("", "in use by anybody", std::to_string(*total - *free)) +
         line("+", "free", std::to_string(*free)) + line("=", "total", std::to_string(*total)) +
         "\n";
}

/// Live blocks by tag and place, the largest groups, where the dump lists them.
std::string leaks(const JsonDocument& document) {
  constexpr std::size_t kShown = 20;
  const std::size_t groups = document.size("/leaks");
  if (groups == 0) return {};
  std::string text = "\nlive by tag                     bytes requested\n";
  std::uint64_t rest = 0, all = 0;
  for (std::size_t i = 0; i < groups; ++i) {
    const std::string place = "/leaks/" + std::to_string(i);
    const std::uint64_t bytes = document.count(place + "/bytes").value_or(0);
    all += bytes;
    if (i < kShown) {
      const std::string tag = printable(document.text(place + "/tag").value_or("unnamed"));
      text += line("+", tag, std::to_string(bytes));
      const auto site = document.text(place + "/site/0");
      if (site) text += "      at " + printable(*site) + "\n";
    } else {
      rest += bytes;
    }
  }
  if (groups > kShown) {
    text += line("+", std::to_string(groups - kShown) + " more", std::to_string(rest));
  }
  return text + line("=", "requested", std::to_string(all));
}

}  // namespace

pool::PoolStats read_pool_stats(const JsonDocument& document, const std::string& name) {
  const std::string schema = document.text("/schema").value_or("");
  if (schema != "forebay.stats/1") {
    throw Error("'" + name + "' is no forebay.stats/1: " +
                (schema.empty() ? "it has no text at /schema" : "/schema is '" + schema + "'") +
                "; 'forebay bench cold-start --stats FILE' makes one");
  }
  pool::PoolStats stats;
  Filler(document, name).fill("/pool", stats);
  if (document.json("/pool/fragmentation/free_in_ranges") == "null") {
    stats.fragmentation.free_in_ranges = stats.free.current;  // from before the places were told
    pool::PoolStats derived = stats;
    pool::derive(derived);
    stats.fragmentation.external = derived.fragmentation.external;
    stats.fragmentation.external_for = derived.fragmentation.external_for;
  }
  return stats;
}

std::string check_document(const JsonDocument& document, const std::string& name) {
  const pool::PoolStats stats = read_pool_stats(document, name);
  if (std::string lie = pool::check_identities(stats); !lie.empty()) return lie;
  const auto count = [&](const std::string& pointer) {
    const auto found = document.count(pointer);
    if (!found) {
      throw Error("'" + name + "' has no whole number at " + pointer +
                  ", where every forebay.stats/1 has one");
    }
    return *found;
  };
  const auto differ = [](const char* text, std::uint64_t left, std::uint64_t right) {
    return std::string(text) + " does not hold: " + std::to_string(left) + " and " +
           std::to_string(right);
  };
  if (document.json("/device/used") != "null") {  // which older dumps lack
    const std::uint64_t both = count("/device/used") + count("/device/free");
    const std::uint64_t total = count("/device/total");
    if (both != total) return differ("device.used + device.free = device.total", both, total);
  }
  if (document.json("/leaks") != "null" && !document.is_array("/leaks")) {
    throw Error("'" + name + "' has no list at /leaks, where every forebay.stats/1 has one");
  }
  const std::size_t groups = document.size("/leaks");
  if (groups == 0) return {};
  std::uint64_t bytes = 0, blocks = 0;
  for (std::size_t i = 0; i < groups; ++i) {
    bytes += count("/leaks/" + std::to_string(i) + "/bytes");
    blocks += count("/leaks/" + std::to_string(i) + "/blocks");
  }
  // What is in quarantine counts as live and requested, but is no leak.
  bytes += stats.debug.quarantined_bytes;
  blocks += stats.debug.quarantined_blocks;
  if (bytes != stats.requested.current) {
    return differ("sum of leaks[].bytes + debug.quarantined_bytes = requested", bytes,
                  stats.requested.current);
  }
  if (blocks != stats.allocations.live) {
    return differ("sum of leaks[].blocks + debug.quarantined_blocks = allocations.live", blocks,
                  stats.allocations.live);
  }
  return {};
}

std::string stats_table(const JsonDocument& document, const std::string& name) {
  const pool::PoolStats stats = read_pool_stats(document, name);
  std::string text = heading(document, stats) + "\n" + device_memory(document) +
                     pool::to_table(stats) + leaks(document);
  for (const char* part : {"kernels", "fusion", "autograd"}) {
    text += std::string("\n") + part + "\n";
    append_object(document, std::string("/") + part, "", text);
  }
  return text;
}

}  // namespace forebay::tools
