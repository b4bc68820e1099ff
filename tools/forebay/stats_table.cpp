#include "tools/forebay/stats_table.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "forebay/pool/error.hpp"
#include "pool/stats_table.hpp"

namespace forebay::tools {
namespace {

/// Fields that a document of forebay.stats/1 may have beside those that it must have, by the ends
/// of their paths.
constexpr std::string_view kBeside =
    "timeline span/extents driver/reserve driver/unreserve driver/allocate_region "
    "driver/free_region max_us fragmentation/external fragmentation/external_for "
    "fragmentation/free_in_ranges fragmentation/granule_occupancy slab/tails slab/blocks "
    "buddy/blocks stranded waits p999 max latency_ns/miss miss_path locks debug "
    "errors/buffer_overrun errors/use_after_free errors/no_host_memory peak_at_s age_s "
    "map_left_out pool/map pinned/map";

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

const pool::Section& device_memory() {
  using pool::Unit;
  static const pool::Section kSection{"device memory",
                                      {{"bytes", "", Unit::bytes}},
                                      {{' ', "in use by anybody", "device.used"},
                                       {'+', "free", "device.free"},
                                       {'=', "total", "device.total"}}};
  return kSection;
}

const std::vector<pool::Section>& beside_the_pool() {
  static const std::vector<pool::Section> kSections{
      {"kernel launches",
       {{"count", ""}},
       {{' ', "interpreted", "kernels.interpreted_launches"},
        {'+', "compiled", "kernels.compiled_launches"},
        {'=', "all", "+"}}},
      {"expressions ended by", {{"count", ""}}, {{'+', "", "fusion.ends.#"}, {'=', "all", "+"}}}};
  return kSections;
}

/// Live blocks by tag and place, where the dump lists them.
const pool::Section& leaks() {
  using pool::Unit;
  static const pool::Section kSection{
      "live by tag",
      {{"requested", "bytes", Unit::bytes},
       {"blocks", "blocks"},
       {"estimated", "estimated_bytes", Unit::bytes},
       {"first", "first"},
       {"last", "last"}},
      {{'+', "", "leaks.#tag"},
       {'+', "in quarantine", "pool.debug.quarantined_bytes|pool.debug.quarantined_blocks|||"},
       {'=', "requested", "pool.requested.current|pool.allocations.live|||"}},
      Unit::plain,
      "site"};
  return kSection;
}

/// What was dumped, when, and by whom.
std::string heading(pool::Entry& root) {
  const auto word = [&root](const char* path, const char* otherwise) -> std::string {
    pool::Entry* entry = root.find(path);
    if (entry == nullptr || entry->is_group()) return otherwise;
    entry->shown = true;
    if (const auto* count = std::get_if<pool::Count>(&entry->value)) return std::to_string(*count);
    const auto* text = std::get_if<std::string>(&entry->value);
    return text != nullptr ? *text : otherwise;
  };
  std::string text = "device " + word("device.kind", "unknown") + ":" +
                     word("device.index", "null") + " (" + word("device.name", "unnamed") +
                     ") at " + word("time", "an unknown time") + "\n";
  if (root.find("version") != nullptr) {
    text += "forebay " + word("version", "") + ", configuration " + word("config_hash", "unknown") +
            "\n";
  }
  return text;
}

/// What older dumps do not tell of the device's memory.
void add_used(pool::Entry& root) {
  pool::Entry* device = root.find("device");
  if (device == nullptr || device->find("used") != nullptr) return;
  const pool::Entry* total = device->find("total");
  const pool::Entry* free = device->find("free");
  const auto* all = total == nullptr ? nullptr : std::get_if<pool::Count>(&total->value);
  const auto* left = free == nullptr ? nullptr : std::get_if<pool::Count>(&free->value);
  if (all == nullptr || left == nullptr || *left > *all) return;
  const pool::Count used = *all - *left;
  device->parts.push_back({"used", used, {}});
}

/// What a newer forebay wrote about a pool, and this one does not know.
void add_unknown(const pool::Entry& written, pool::Entry& known) {
  for (std::size_t i = 0; i < written.parts.size(); ++i) {
    const pool::Entry& part = written.parts[i];
    auto same = known.parts.begin() + static_cast<std::ptrdiff_t>(i);
    // Parts of lists have their index for a name.
    if (i >= known.parts.size() || same->name != part.name) {
      same = std::find_if(known.parts.begin(), known.parts.end(),
                          [&](const pool::Entry& entry) { return entry.name == part.name; });
    }
    if (same == known.parts.end()) {
      known.parts.push_back(part);
    } else {
      add_unknown(part, *same);
    }
  }
}

pool::PoolStats read_pool(const JsonDocument& document, const std::string& pointer,
                          const std::string& name) {
  pool::PoolStats stats;
  Filler(document, name).fill(pointer, stats);
  if (document.json(pointer + "/fragmentation/free_in_ranges") == "null") {
    stats.fragmentation.free_in_ranges = stats.free.current;  // from before the places were told
    pool::PoolStats derived = stats;
    pool::derive(derived);
    stats.fragmentation.external = derived.fragmentation.external;
    stats.fragmentation.external_for = derived.fragmentation.external_for;
  }
  return stats;
}

}  // namespace

pool::PoolStats read_pool_stats(const JsonDocument& document, const std::string& name) {
  const std::string schema = document.text("/schema").value_or("");
  if (schema != "forebay.stats/1") {
    throw Error("'" + name + "' is no forebay.stats/1: " +
                (schema.empty() ? "it has no text at /schema" : "/schema is '" + schema + "'") +
                "; 'forebay bench cold-start --stats FILE' makes one");
  }
  return read_pool(document, "/pool", name);
}

std::string check_document(const JsonDocument& document, const std::string& name) {
  const pool::PoolStats stats = read_pool_stats(document, name);
  if (std::string lie = pool::check_identities(stats); !lie.empty()) return lie;
  if (document.json("/pinned") != "null") {
    const std::string lie = pool::check_identities(read_pool(document, "/pinned", name));
    if (!lie.empty()) return "of pinned memory: " + lie;
  }
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
  pool::Entry root = document.entry("");
  add_used(root);
  std::string text = heading(root) + "\n" + pool::lay_out(root, device_memory());
  const auto table_of = [&](const char* part, const pool::PoolStats& of) {
    pool::Entry entries = pool::entries_of(of);
    entries.name = part;
    add_unknown(*root.find(part), entries);
    text += pool::to_table(entries, of);
    *root.find(part) = std::move(entries);
  };
  table_of("pool", stats);
  if (root.find("pinned") != nullptr) {
    text += "== pinned host memory ==\n\n";
    table_of("pinned", read_pool(document, "/pinned", name));
    text += "== beside the pools ==\n\n";
  }
  for (const pool::Section& section : beside_the_pool()) text += pool::lay_out(root, section);
  const std::string live = pool::lay_out(root, leaks());
  text += pool::lay_out_rest(root, "dump") + live;
  text.pop_back();  // the empty line at its end
  return text;
}

}  // namespace forebay::tools
