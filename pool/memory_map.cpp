// Where a pool's memory lies: granules by how full they are, and the list of all ranges.
#include <algorithm>
#include <unordered_map>

#include "pool/pool_impl.hpp"
#include "pool/units.hpp"

namespace forebay::pool {

/// What the mutexes of streams guard, noted before the engine lock is taken.
struct Pool::Impl::MapNotes {
  std::vector<StreamId> streams;                   // by owner
  std::unordered_map<Address, MapRange> carriers;  // slab pages and buddy chunks
  std::unordered_map<ExtentId, StreamId> freed;    // spans that wait for several streams: by whom
  std::unordered_map<Address, StreamId> freed_alone;
};

namespace {

MapRange describe_carrier(const Carrier& carrier, StreamId stream) {
  MapRange range{carrier.address, carrier.bytes, "slab", "free", stream, 0, 0};
  if (carrier.kind == Carrier::Kind::buddy) range.client = "buddy";
  range.allocated = carrier.live_bytes;
  range.pending = carrier.pending + away_bytes(carrier);
  if (range.pending > 0) range.state = "pending";
  if (range.allocated > 0) range.state = "used";
  return range;
}

}  // namespace

// REQUIRES: growth_mutex_.
void Pool::Impl::note_streams(MapNotes& notes) {
  const std::shared_lock registry(registry_mutex_);
  notes.streams.resize(states_.size());
  for (const auto& state : states_) {
    if (!state) continue;
    const std::lock_guard lock(state->mutex);
    notes.streams[state->owner] = state->stream;
    for (const Carrier* carrier : state->cache.carriers()) {
      notes.carriers.emplace(carrier->address, describe_carrier(*carrier, state->stream));
    }
  }
}

// REQUIRES: growth and engine locks.
MapRange Pool::Impl::describe(ExtentId id, const SpanEngine::Extent& extent,
                              const MapNotes& notes) {
  MapRange range{extent.address, extent.bytes, "span", "used", 0, 0, 0};
  const auto pending = [&range](StreamId stream) {
    range.state = "pending";
    range.stream = stream;
    range.pending = range.bytes;
  };
  if (extent.state == ExtentState::free) {
    const Owner owner = extent.stamp.owner;
    range.state = "free";
    if (owner != kEverybody) pending(owner < notes.streams.size() ? notes.streams[owner] : 0);
    return range;
  }
  if (extent.block) {
    const SpanBlock& block = blocks_.at(id);
    const StreamState* user = block.user.load(std::memory_order_acquire);
    range.stream = user == nullptr ? 0 : user->stream.load();
    if (block.freed.load(std::memory_order_acquire)) {
      pending(range.stream);
    } else {
      range.allocated = range.bytes;
    }
    return range;
  }
  if (const auto freed = notes.freed.find(id); freed != notes.freed.end()) {
    pending(freed->second);
  } else if (const auto found = notes.carriers.find(extent.address);
             found != notes.carriers.end() && found->second.bytes == extent.bytes) {
    return found->second;
  } else if (std::any_of(stuck_.begin(), stuck_.end(),
                         [id](const auto& stuck) { return stuck.second == id; })) {
    range.state = "stuck";
  }
  return range;  // else it is between two hands
}

// REQUIRES: growth and engine locks.
void Pool::Impl::add_map(PoolStats& stats, std::size_t most, const MapNotes& notes) {
  const auto add = [&stats, most](const MapRange& range) {
    if (stats.map.size() < most) {
      stats.map.push_back(range);
    } else {
      ++stats.map_left_out;
    }
  };
  engine_.each([&](ExtentId id, const SpanEngine::Extent& extent) {
    if (extent.state != ExtentState::hole) add(describe(id, extent, notes));
  });
  for (const auto& [address, block] : alone_) {
    const Mapping& region = block.region;
    MapRange range{region.address, region.bytes, "span", "used", 0, region.bytes, 0};
    if (block.user != nullptr) range.stream = block.user->stream.load();
    if (!block.live) {
      const auto freed = notes.freed_alone.find(address);
      const bool waits = freed != notes.freed_alone.end();
      if (waits) range.stream = freed->second;
      range.state = waits ? "pending" : "stuck";
      range.pending = waits ? range.allocated : 0;
      range.allocated = 0;
    }
    add(range);
  }
  std::sort(stats.map.begin(), stats.map.end(),
            [](const MapRange& a, const MapRange& b) { return a.address < b.address; });
  backing_.each_idle([&add](std::size_t bytes) { add({0, bytes, "handle", "idle", 0, 0, 0}); });
}

// REQUIRES: growth and engine locks.
Histogram Pool::Impl::granule_occupancy() {
  const std::size_t granule = traits_.granularity;
  Histogram occupancy;
  Count busy = 0, mapped = 0;
  Address current = 0;
  std::uint64_t used = 0;
  const auto settle = [&] {
    if (used == 0) return;
    ++occupancy[std::max<std::uint64_t>(10, used * 10 / granule * 10)];
    ++busy;
  };
  engine_.each([&](ExtentId, const SpanEngine::Extent& extent) {
    if (extent.state != ExtentState::hole) mapped += extent.bytes;
    if (extent.state != ExtentState::used) return;
    for (Address at = extent.address; at < extent.end();) {
      const Address begin = round_down(at, granule);
      const Address until = std::min<Address>(extent.end(), begin + granule);
      if (begin != current) {
        settle();
        current = begin;
        used = 0;
      }
      used += until - at;
      at = until;
    }
  });
  settle();
  if (mapped / granule > busy) occupancy[0] = mapped / granule - busy;
  return occupancy;
}

PoolStats Pool::Impl::detailed_stats(std::size_t map_ranges) {
  PoolStats detailed = stats();
  const std::lock_guard growth(growth_mutex_);
  MapNotes notes;
  if (map_ranges > 0) note_streams(notes);
  const std::lock_guard lock(engine_mutex_);
  if (range_ != 0) detailed.fragmentation.granule_occupancy = granule_occupancy();
  if (map_ranges == 0) return detailed;
  deferred_.each([&notes](const Deferred& block) {
    if (block.freed_on == nullptr) return;
    const StreamId stream = block.freed_on->stream.load();
    if (block.id != kNoExtent) notes.freed.emplace(block.id, stream);
    if (block.alone != 0) notes.freed_alone.emplace(block.alone, stream);
  });
  add_map(detailed, map_ranges, notes);
  return detailed;
}

}  // namespace forebay::pool
