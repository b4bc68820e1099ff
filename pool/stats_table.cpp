// The statistics of a pool as tables.
#include "pool/stats_table.hpp"

#include <type_traits>
#include <utility>

#include "pool/map_sum.hpp"

namespace forebay::pool {
namespace {

// From the struct to a tree ----------------------------------------------------------------------

void fill(Entry& entry, Count value) { entry.value = value; }
void fill(Entry& entry, double value) { entry.value = value; }
void fill(Entry& entry, const std::string& word) {
  std::string text = word;
  for (char& c : text) c = c >= ' ' && c < 0x7F ? c : '?';
  entry.value = std::move(text);
}
template <typename Value>
void fill(Entry& entry, const std::map<std::uint64_t, Value>& histogram) {
  for (const auto& [key, value] : histogram) {
    fill(entry.parts.emplace_back(Entry{std::to_string(key), {}, {}}), value);
  }
}
template <typename Struct>
requires std::is_class_v<Struct>
void fill(Entry& entry, const Struct& fields);
template <typename Element>
void fill(Entry& entry, const std::vector<Element>& elements) {
  for (const Element& element : elements) {
    fill(entry.parts.emplace_back(Entry{std::to_string(entry.parts.size()), {}, {}}), element);
  }
}
template <typename Struct>
requires std::is_class_v<Struct>
void fill(Entry& entry, const Struct& fields) {
  Struct::each_field(
      [&entry](const char* name, Merge, const auto& field) {
        fill(entry.parts.emplace_back(Entry{name, {}, {}}), field);
      },
      fields);
}

// The tables -------------------------------------------------------------------------------------

const std::vector<Section>& sections() {
  static const std::vector<Section> kSections{
      {"memory",
       {{"bytes", "current", Unit::bytes},
        {"peak", "peak", Unit::bytes},
        {"at s", "peak_at_s", Unit::seconds},
        {"ever", "total", Unit::bytes}},
       {{' ', "requested", "requested"},
        {'+', "rounding", "rest"},
        {'=', "allocated", "allocated"},
        {'+', "pending", "pending"},
        {'+', "free", "free"},
        {'=', "mapped", "mapped"},
        {'+', "idle handles", "idle_handles"},
        {'=', "held", "held"},
        {'+', "not taken yet", "rest"},
        {'=', "capacity", "capacity"},
        {' ', "addresses reserved", "address_range"},
        {' ', "host metadata", "host_metadata"}}},
      {"memory by engine",
       {{"mapped", "mapped", Unit::bytes},
        {"allocated", "allocated", Unit::bytes},
        {"blocks", "blocks"},
        {"in", ""}},
       {{' ', "slab, in pages", "slab.mapped|slab.allocated|slab.blocks|slab.pages"},
        {'+', "buddy, in chunks", "buddy.mapped|buddy.allocated|buddy.blocks|buddy.chunks"},
        {'+', "span, in extents", "span.mapped|span.allocated|span.blocks|span.extents"},
        {'=', "all", "mapped.current|allocated.current|+|"}}},
      {"free by place",
       {{"bytes", "", Unit::bytes}},
       {{' ', "in ranges for everyone", "fragmentation.free_in_ranges"},
        {'+', "stranded with streams", "+streams.stranded"},
        {'+', "ends of slab pages", "slab.tails"},
        {'+', "stuck", "rest"},
        {'=', "free", "free.current"},
        {' ', "largest free range", "fragmentation.largest_free"}}},
      {"fragmentation",
       {{"share", "", Unit::share}},
       {{' ', "internal", "fragmentation.internal"},
        {' ', "external", "fragmentation.external"},
        {' ', "realised at peak", "fragmentation.realized_at_peak"}}},
      {"free ranges shorter than",
       {{"bytes", "", Unit::bytes}, {"share", "", Unit::share}},
       {{' ', "", "fragmentation.free_below.#|fragmentation.external_for.#"}},
       Unit::bytes},
      {"free ranges from",
       {{"ranges", ""}},
       {{'+', "", "fragmentation.free_ranges_log2.#"}, {'=', "all", "+"}},
       Unit::log2},
      {"granules in use to",
       {{"granules", ""}},
       {{'+', "", "fragmentation.granule_occupancy.#"}, {'=', "all", "+"}},
       Unit::percent},
      {"slab pages of blocks of",
       {{"pages", "pages"},
        {"places", "slots"},
        {"taken", "used"},
        {"allocated", "bytes*used", Unit::bytes}},
       {{'+', "", "slab.classes.#bytes"}, {'=', "all", "slab.pages|+|+|slab.allocated"}},
       Unit::bytes},
      {"free buddy blocks of",
       {{"blocks", "free"}, {"free", "bytes*free", Unit::bytes}},
       {{'+', "", "buddy.orders.#bytes"}, {'=', "all", "+|+"}},
       Unit::bytes},
      {"allocations",
       {{"count", ""}},
       {{' ', "live", "allocations.live"},
        {'+', "freed", "allocations.frees"},
        {'=', "total", "allocations.total"},
        {' ', "failed", "allocations.failed"}}},
      {"served by",
       {{"allocations", "count"}, {"time us", "us", Unit::us}},
       {{'+', "", "ladder.#"},
        {'=', "total", "allocations.total|+"},
        {' ', "all beyond the first search", "miss_path"}}},
      {"driver calls",
       {{"count", "count"}, {"time us", "us", Unit::us}, {"longest us", "max_us", Unit::us}},
       {{'+', "", "driver.#"}, {'=', "all", "+|+|"}}},
      {"points and waits",
       {{"count", ""}},
       {{'+', "points recorded", "timeline.records"},
        {'+', "points queried", "timeline.queries"},
        {'+', "waits of a stream", "timeline.waits"},
        {'+', "waits of the host", "timeline.synchronizes"},
        {'=', "calls of the timeline", "+"},
        {' ', "host waits", "host_waits"},
        {' ', "device synchronisations", "device_syncs"}}},
      {"latency ns",
       {{"operations", "count"},
        {"p50", "p50", Unit::ns},
        {"p99", "p99", Unit::ns},
        {"p999", "p999", Unit::ns},
        {"longest", "max", Unit::ns}},
       {{' ', "", "latency_ns.#"}, {' ', "sampled, one in", "latency_ns.sampled_1_in"}}},
      {"waits for locks",
       {{"count", "count"}, {"time us", "us", Unit::us}},
       {{'+', "", "locks.#"}, {'=', "all", "+|+"}}},
      {"debug modes",
       {{"bytes", "", Unit::bytes}, {"count", ""}},
       {{' ', "in quarantine", "debug.quarantined_bytes|debug.quarantined_blocks"},
        {' ', "blocks known", "|debug.records"},
        {' ', "blocks guarded", "|debug.guarded"},
        {' ', "fills", "|debug.fills"},
        {' ', "checks", "|debug.checks"},
        {' ', "checks not made", "|debug.unchecked"}}},
      {"misuse", {{"count", ""}}, {{'+', "", "errors.#"}, {'=', "all", "+"}}},
      {"memory by stream",
       {{"allocated", "allocated", Unit::bytes},
        {"pending", "pending", Unit::bytes},
        {"stranded", "stranded", Unit::bytes}},
       {{'+', "", "streams.#id"}, {'=', "all", "allocated.current|pending.current|+"}}},
      {"work by stream",
       {{"hits", "hits"},
        {"misses", "misses"},
        {"steals", "steals"},
        {"waits", "waits"},
        {"points recorded", "points_recorded"},
        {"queried", "points_queried"}},
       {{'+', "", "streams.#id"}, {'=', "all", "+|+|+|+|+|+"}}},
      {"map",
       {{"bytes", "bytes", Unit::bytes}, {"ranges", "ranges"}},
       {{'+', "", "map in all.#"}, {'=', "listed", "+|+"}}},
      {"map from",
       {{"bytes", "bytes", Unit::bytes},
        {"client", "client"},
        {"state", "state"},
        {"stream", "stream"},
        {"allocated", "allocated", Unit::bytes},
        {"pending", "pending", Unit::bytes}},
       {{'+', "", "map.#address"}, {'=', "listed", "+||||+|+"}},
       Unit::address},
  };
  return kSections;
}

/// The map by whose and what its ranges are.
Entry map_in_all(const PoolStats& stats) {
  Entry sums{"map in all", {}, {}};
  if (stats.map.empty()) return sums;
  const auto add = [&](const char* name, const char* client, const char* state) {
    const MapSum sum = sum_of_map(stats, client, state);
    sums.parts.push_back({name, {}, {{"bytes", sum.bytes, {}}, {"ranges", sum.ranges, {}}}});
  };
  add("blocks of their own", "span", "used");
  add("pending blocks", "span", "pending");
  add("free ranges", "span", "free");
  add("stuck ranges", "span", "stuck");
  add("slab pages", "slab", "");
  add("buddy chunks", "buddy", "");
  add("idle handles", "handle", "");
  return sums;
}

}  // namespace

Entry entries_of(const PoolStats& stats) {
  Entry root;
  fill(root, stats);
  return root;
}

std::string to_table(Entry& entries, const PoolStats& stats) {
  entries.parts.push_back(map_in_all(stats));
  std::string text;
  for (const Section& section : sections()) text += lay_out(entries, section);
  entries.parts.pop_back();
  return text + lay_out_rest(entries, "pool");
}

std::string to_table(const PoolStats& stats) {
  Entry entries = entries_of(stats);
  std::string text = to_table(entries, stats);
  text.pop_back();  // the empty line at its end
  return text;
}

}  // namespace forebay::pool
