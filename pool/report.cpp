// What a pool says of itself: statistics, OutOfMemory, leaks, and whether it is sound.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <new>

#include "pool/pool_impl.hpp"
#include "pool/units.hpp"

namespace forebay::pool {
namespace {

constexpr std::size_t kHoldersShown = 5;

const char* shown_tag(const char* tag) { return tag == nullptr ? "(untagged)" : tag; }

}  // namespace

void Pool::Impl::log(std::string_view line) const noexcept {
  if (!log_) return;
  try {
    log_(line);
  } catch (...) {  // a line is what can be done without
  }
}

// REQUIRES: the engine lock.
void Pool::Impl::sample_levels() {
  const std::uint64_t used = engine_.counts().used;
  needed_ = std::max(needed_, used - std::min(used, leaving_));
  pending_.set(engine_.counts().pending + deferred_bytes_ + small_pending_.current());
  const std::uint64_t mapped = backing_.mapped().current();
  const std::uint64_t taken = allocated_.current() + pending_.current();
  free_.set(mapped > taken ? mapped - taken : 0);
}

double Pool::Impl::age_s(std::int64_t at) const noexcept {
  return at == 0 ? 0 : static_cast<double>(at - born_) / 1e9;
}

PoolStats Pool::Impl::stats() {
  PoolStats stats;
  const std::lock_guard growth(growth_mutex_);
  StreamCounters sum;
  std::array<SmallCache::ClassCounts, kSlabClasses + 1> classes{};
  std::array<Count, kMaxOrders> free_orders{};
  {
    const std::shared_lock registry(registry_mutex_);
    sum = closed_counters_;
    for (const auto& state : states_) {
      if (!state) continue;
      const std::lock_guard lock(state->mutex);
      const std::lock_guard engine_lock(engine_mutex_);
      fold_locked(*state);
      const StreamCounters& counters = state->counters;
      sum.add(counters);
      StreamStats stream;
      stream.id = state->stream;
      stream.allocated = counters.allocated_in - counters.allocated_out;
      stream.pending = engine_.pending(state->owner) + state->deferred + state->cache.pending() +
                       state->spans.pending();
      stream.hits = counters.served[static_cast<std::size_t>(Rung::cache)];
      stream.misses = counters.allocations - stream.hits;
      stream.steals = counters.served[static_cast<std::size_t>(Rung::steal)];
      stream.waits = state->waits.load(std::memory_order_relaxed);
      stream.points_recorded = state->points_recorded.load(std::memory_order_relaxed);
      stream.points_queried = state->points_queried.load(std::memory_order_relaxed);
      for (std::size_t i = 0; i <= kSlabClasses; ++i) classes[i].add(state->cache.counts()[i]);
      stream.stranded = state->cache.stranded();
      for (unsigned order = 0; order < kMaxOrders; ++order) {
        free_orders[order] += state->cache.free_orders()[order];
      }
      if (state->open) stats.streams.push_back(stream);
    }
  }
  const std::lock_guard lock(engine_mutex_);
  sample_levels();
  stats.requested = {sum.requested_in - sum.requested_out, requested_.peak(), sum.requested_in,
                     age_s(requested_.peak_at())};
  stats.allocated = {sum.allocated_in - sum.allocated_out, allocated_.peak(), sum.allocated_in,
                     age_s(allocated_.peak_at())};
  const auto level = [this](const Gauge& gauge) {
    return Level{gauge.current(), gauge.peak(), age_s(gauge.peak_at())};
  };
  stats.pending = level(pending_);
  stats.mapped = level(backing_.mapped());
  // While other threads work the parts are not of one moment.
  const Count taken = stats.allocated.current + stats.pending.current;
  stats.free = level(free_);
  stats.free.current = stats.mapped.current - std::min(stats.mapped.current, taken);
  stats.idle_handles = level(backing_.idle());
  stats.held = level(backing_.held());
  stats.capacity = config_.capacity;
  stats.address_range = config_.address_range;
  stats.host_metadata = records_.bytes() + engine_.metadata_bytes() + index_.metadata_bytes() +
                        blocks_.metadata_bytes() + deferred_.metadata_bytes() +
                        uses_.size() * (sizeof(Address) + sizeof(Deferred) + 3 * sizeof(Use)) +
                        sizeof *this + (recorder_ == nullptr ? 0 : recorder_->metadata_bytes());
  if (watch_ != nullptr) {
    watch_->count(stats.debug);
    stats.host_metadata += watch_->metadata_bytes();
  }
  stats.allocations = {sum.allocations - sum.frees, sum.allocations, sum.frees,
                       failed_.load(std::memory_order_relaxed)};
  stats.fragmentation.largest_free = engine_.largest_free();
  for (const unsigned log : {21u, 25u, 28u}) {
    Count below = 0;
    for (unsigned i = 0; i < log; ++i) below += engine_.free_by_log2()[i].bytes;
    stats.fragmentation.free_below[Count{1} << log] = below;
  }
  for (unsigned i = 0; i < 64; ++i) {
    stats.fragmentation.free_in_ranges += engine_.free_by_log2()[i].bytes;
    if (const Count ranges = engine_.free_by_log2()[i].ranges; ranges > 0) {
      stats.fragmentation.free_ranges_log2[i] = ranges;
    }
  }
  for (unsigned i = 0; i < kSlabClasses; ++i) {
    const SmallCache::ClassCounts& of = classes[i];
    stats.slab.mapped += of.bytes;
    stats.slab.allocated += of.live_bytes;
    stats.slab.blocks += of.live;
    stats.slab.tails += of.bytes - of.slots * slab_bytes(i);
    stats.slab.pages += of.carriers;
    if (of.carriers > 0) {
      stats.slab.classes.push_back({slab_bytes(i), of.slots, of.live, of.carriers});
    }
  }
  const SmallCache::ClassCounts& chunks = classes[kSlabClasses];
  stats.buddy = {chunks.bytes, chunks.live_bytes, chunks.live, chunks.carriers, {}};
  for (unsigned order = 0; order < kMaxOrders; ++order) {
    if (free_orders[order] > 0) {
      stats.buddy.orders.push_back({router_.leaf_bytes() << order, free_orders[order]});
    }
  }
  stats.span = {stats.mapped.current - stats.slab.mapped - stats.buddy.mapped, sum.span_bytes,
                sum.span_blocks, engine_.counts().extents};
  std::size_t rung = 0;
  LadderStats::each_field(
      [&](const char*, Merge, Tally& tally) {
        tally = {sum.served[rung], rung_ns_[rung].load(std::memory_order_relaxed) / 1000};
        ++rung;
      },
      stats.ladder);
  source_.report(stats.driver);
  if (traits_.free_waits) stats.device_syncs = stats.driver.free_region.count;
  clockwork_.report(stats.timeline);
  stats.host_waits = host_waits_.load(std::memory_order_relaxed);
  stats.latency_ns = {config_.latency_sample, allocate_latency_.percentiles(),
                      release_latency_.percentiles(), miss_latency_.percentiles()};
  stats.miss_path = {stats.latency_ns.miss.count, miss_latency_.sum() / 1000};
  stats.locks = {engine_mutex_.waits(), growth_mutex_.waits()};
  stats.ladder.cache.us = allocate_latency_.sum() * config_.latency_sample / 1000;
  std::size_t misuse = 1;
  ErrorStats::each_field(
      [&](const char*, Merge, Count& count) {
        count = misuses_[misuse++].load(std::memory_order_relaxed);
      },
      stats.errors);
  stats.age_s = age_s(CoarseClock::now());  // after every peak
  derive(stats);
  return stats;
}

std::vector<Pool::Impl::Holder> Pool::Impl::holders() {
  std::map<std::string_view, Holder> by_tag;
  const auto add = [&](const char* tag, std::uint64_t bytes) {
    Holder& holder = by_tag.try_emplace(shown_tag(tag), Holder{shown_tag(tag), 0, 0}).first->second;
    ++holder.blocks;
    holder.bytes += bytes;
  };
  std::vector<Address> spans;
  {
    const std::lock_guard lock(engine_mutex_);
    engine_.each([&](ExtentId, const SpanEngine::Extent& extent) {
      if (extent.block) spans.push_back(extent.address);
    });
    for (const auto& [address, block] : alone_) {
      if (block.live) add(block.tag, block.requested);
    }
  }
  for (const Address address : spans) {
    StateLock lock;
    const SpanBlock* block = lock_span(address, &lock);
    if (block != nullptr && !block->freed) add(block->tag, block->requested);
  }
  for (const StreamState* state : open_states()) {
    const std::lock_guard lock(state->mutex);
    for (const Carrier* carrier : state->cache.carriers()) {
      carrier->each_live([&](const Slot& slot) { add(slot.tag, slot.requested); });
    }
  }
  std::vector<Holder> all;
  for (const auto& [name, holder] : by_tag) all.push_back(holder);
  std::stable_sort(all.begin(), all.end(),
                   [](const Holder& a, const Holder& b) { return a.bytes > b.bytes; });
  return all;
}

// The key that would have helped most plainly. `reusable`: free bytes that are no capture's.
std::string Pool::Impl::what_would_help(const Request& request, const PoolStats& now,
                                        std::size_t device_free, std::uint64_t reusable) {
  if (request.bytes > traits_.total) {
    return "none: the request is larger than the device's memory";
  }
  if (request.bytes > config_.capacity) return "a larger pool.capacity, or a smaller request";
  if (request.alignment > config_.capacity) return "a smaller alignment, or a larger pool.capacity";
  const std::size_t granule = traits_.granularity;
  const std::size_t least = round_up(request.span, granule);
  const std::size_t room = config_.capacity - std::min(config_.capacity, now.held.current);
  if (!rungs_.has(LadderRung::grow) && now.held.current + least > config_.soft_limit &&
      least <= round_down(room, granule)) {
    return "a larger pool.soft_limit, or \"grow\" in pool.ladder";
  }
  if (least <= round_down(room, granule)) {
    if (config_.headroom > 0 && device_free < config_.headroom + least) {
      return "a smaller pool.headroom: of the device's memory " + std::to_string(device_free) +
             " bytes are free, and " + std::to_string(config_.headroom) + " have to stay so";
    }
    if (request.alignment > granule && request.alignment + least > room) {
      return "a smaller alignment, or a larger pool.capacity";
    }
    return "none: the source gave no memory (" + backing_failure() + ")";
  }
  if (reusable >= request.span && request.bytes <= config_.capacity) {
    if (config_.wait_limit_ms == 0) {
      return "a larger pool.wait_limit_ms: enough is pending or scattered";
    }
    std::string lacking;
    for (const LadderRung rung :
         {LadderRung::steal, LadderRung::remap, LadderRung::trim, LadderRung::wait}) {
      if (!rungs_.has(rung)) {
        lacking += (lacking.empty() ? "\"" : ", \"") + std::string(to_string(rung)) + "\"";
      }
    }
    if (!lacking.empty()) return lacking + " in pool.ladder: enough is pending or scattered";
    return std::string("a larger pool.capacity") +
           (config_.handle_size > granule ? ", or a smaller pool.handle_size" : "") +
           ": enough is free, but in pieces";
  }
  return device_free > request.bytes
             ? "a larger pool.capacity: the device still has memory"
             : "none: the device is full; free something or use a smaller problem";
}

void Pool::Impl::throw_out_of_memory(const Request& request, StreamState& state,
                                     const std::string& rungs) {
  if (closed()) throw ClosedError("pool: closed during an allocation");
  failed_.fetch_add(1, std::memory_order_relaxed);
  const PoolStats now = stats();
  const std::size_t device_free = source_.free_bytes();
  std::uint64_t reusable = now.pending.current + now.free.current;
  {
    // What a capture keeps is nobody else's.
    const std::vector<StreamState*> states = open_states();
    const std::lock_guard lock(engine_mutex_);
    for (const StreamState* other : states) {
      if (other->keeps && other != &state) reusable -= engine_.pending(other->owner);
    }
  }
  const std::string help = what_would_help(request, now, device_free, reusable);
  const auto number = [](std::uint64_t value) { return std::to_string(value); };
  char fragmentation[16];
  std::snprintf(fragmentation, sizeof fragmentation, "%.3f",
                now.free.current == 0 ? 0.0
                                      : 1.0 - static_cast<double>(now.fragmentation.largest_free) /
                                                  static_cast<double>(now.free.current));
  std::string report =
      "requested            " + number(request.bytes) + " bytes on stream " + number(state.stream) +
      ", alignment " + number(request.alignment) + "\nin use               " +
      number(now.allocated.current) + "\npending              " + number(now.pending.current) +
      "\nfree                 " + number(now.free.current) + "\nheld                 " +
      number(now.held.current) + "\ncapacity             " + number(now.capacity) +
      "\nlargest free range   " + number(now.fragmentation.largest_free) +
      "\nfragmentation        " + fragmentation + "\ndevice free memory   " + number(device_free) +
      "\nrungs tried          " + rungs + "\nlargest holders      ";
  const std::vector<Holder> all = holders();
  for (std::size_t i = 0; i < std::min(all.size(), kHoldersShown); ++i) {
    report += (i == 0 ? "" : "\n                     ") + std::string(all[i].tag) + ": " +
              number(all[i].bytes) + " bytes in " + number(all[i].blocks) + " blocks";
  }
  if (all.empty()) report += "nothing is live";
  report += "\nwould help           " + help;
  throw OutOfMemory("pool: out of memory: " + number(request.bytes) + " bytes requested, " +
                        number(now.allocated.current) + " in use, " + number(now.held.current) +
                        " held of " + number(now.capacity) + "; would help: " + help,
                    report);
}

std::string Pool::Impl::backing_failure() {
  const std::lock_guard growth(growth_mutex_);
  return backing_.last_failure().empty() ? "it did not say why" : backing_.last_failure();
}

std::string Pool::Impl::validate() {
  if (closed()) return {};
  const std::lock_guard growth(growth_mutex_);
  std::unique_lock engine_lock(engine_mutex_);
  if (std::string lie = engine_.validate(); !lie.empty()) return lie;
  if (std::string lie = backing_.validate(); !lie.empty()) return lie;
  std::uint64_t alone_bytes = 0;
  for (const auto& [address, block] : alone_) {
    alone_bytes += block.region.bytes;
    if (block.requested > block.region.bytes) return "pool: a region is smaller than its block";
  }
  // Extents tile what was mapped: used and free ones cover exactly the mappings.
  if (range_ != 0) {
    auto mapping = backing_.mappings().begin();
    Address covered = 0;
    std::string lie;
    engine_.each([&](ExtentId, const SpanEngine::Extent& extent) {
      if (!lie.empty()) return;
      for (Address at = extent.address; at < extent.end();) {
        while (mapping != backing_.mappings().end() &&
               mapping->second.address + mapping->second.bytes <= at) {
          ++mapping;
        }
        const bool mapped = mapping != backing_.mappings().end() && mapping->second.address <= at;
        const Address until =
            mapping == backing_.mappings().end()
                ? extent.end()
                : std::min(extent.end(), mapped ? mapping->second.address + mapping->second.bytes
                                                : mapping->second.address);
        if (mapped == (extent.state == ExtentState::hole)) {
          lie = "pool: the extent at " + std::to_string(extent.address) +
                (mapped ? " is a hole where memory is mapped" : " has no memory behind it");
          return;
        }
        covered += mapped ? until - at : 0;
        at = until;
      }
    });
    if (!lie.empty()) return lie;
    if (covered + alone_bytes != backing_.mapped().current())
      return "pool: extents do not tile what is mapped";
  }
  std::uint64_t blocks = 0, allocated = 0, parked = 0, used = deferred_span_bytes();
  struct Seen {
    ExtentId id;
    Address address;
    std::size_t bytes;
  };
  std::vector<Seen> spans;
  engine_.each([&](ExtentId id, const SpanEngine::Extent& extent) {
    if (extent.block) spans.push_back({id, extent.address, extent.bytes});
  });
  for (const auto& [address, block] : alone_) {
    blocks += block.live ? 1 : 0;
    allocated += block.live ? block.region.bytes : 0;
    if (block.requested > block.region.bytes) return "pool: a region is smaller than its block";
  }
  for (const auto& [mapping, id] : stuck_) used += mapping.bytes;
  const std::uint64_t used_found = engine_.counts().used;
  engine_lock.unlock();
  for (const Seen& span : spans) {
    StateLock lock;
    const SpanBlock* block = lock_span(span.address, &lock);
    if (block == nullptr || block->id != span.id || block->bytes != span.bytes ||
        block->requested > span.bytes || block->requested == 0) {
      return "pool: the block at " + std::to_string(span.address) + " is not indexed as itself";
    }
    used += span.bytes;
    (block->freed ? parked : allocated) += span.bytes;
    blocks += block->freed ? 0 : 1;
  }
  {
    const std::shared_lock registry(registry_mutex_);
    StreamCounters sum = closed_counters_;
    for (const auto& state : states_) {
      if (!state) continue;
      const std::lock_guard lock(state->mutex);
      sum.add(state->counters);
      parked -= state->spans.pending();
    }
    if (blocks != sum.span_blocks || allocated != sum.span_bytes) {
      return "pool: live spans differ from their count";
    }
    if (parked != 0) return "pool: parked spans differ from those that caches know";
  }
  std::string lie;
  for (const StreamState* state : open_states()) {
    const std::lock_guard lock(state->mutex);
    if (lie = state->cache.validate(); !lie.empty()) return lie;
    const std::lock_guard again(engine_mutex_);
    for (const Carrier* carrier : state->cache.carriers()) {
      const SpanEngine::Extent& extent = engine_.at(carrier->extent);
      used += carrier->bytes;
      if (carrier->owner.load() != state || extent.state != ExtentState::used || extent.block ||
          extent.address != carrier->address || extent.bytes != carrier->bytes ||
          index_.carrier(carrier->address) != carrier ||
          index_.carrier(carrier->address + carrier->bytes - 1) != carrier) {
        return "pool: the carrier at " + std::to_string(carrier->address) +
               " is not indexed as itself";
      }
    }
  }
  if (used != used_found) {
    return "pool: " + std::to_string(used_found) + " bytes of extents are used, " +
           std::to_string(used) + " by blocks and carriers";
  }
  return {};
}

std::uint64_t Pool::Impl::deferred_span_bytes() const {
  std::uint64_t bytes = 0;
  deferred_.each([&](const Deferred& block) { bytes += block.id != kNoExtent ? block.bytes : 0; });
  return bytes;
}

}  // namespace forebay::pool
