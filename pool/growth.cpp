// Growing: memory is mapped, or moved, to where a block needs it.
#include <algorithm>
#include <new>
#include <utility>

#include "pool/pool_impl.hpp"
#include "pool/units.hpp"

namespace forebay::pool {
namespace {

// A growth never takes a pool for smaller than this part of its capacity.
constexpr std::size_t kSmallShare = 64;

}  // namespace

ExtentId Pool::Impl::grow(const Request& request, StreamState& state, Growth how, std::size_t limit,
                          Rung* rung) {
  const std::lock_guard growth(growth_mutex_);
  if (closed()) return kNoExtent;
  retry_stuck();
  // Somebody else may have grown while this thread waited for the lock.
  if (const ExtentId id = search(request, state)) return id;
  backing_.limit(limit, config_.headroom);
  if (traits_.virtual_memory) {
    ExtentId id = grow_at_place(request, state, how, backing_.handle_size(), rung);
    // Whole handles round up; the last of the memory is given in granules.
    const bool last = how == Growth::fill || (how == Growth::map && !rungs_.has(LadderRung::remap));
    if (id == kNoExtent && last && backing_.handle_size() > traits_.granularity) {
      id = grow_at_place(request, state, how, traits_.granularity, rung);
    }
    return id;
  }
  return how == Growth::map ? grow_by_region(request, state) : replace_regions(request, state);
}

// Wholly idle handles that are everybody's, as used extents; those at the highest addresses, so
// that memory gathers at the low ones. At least `bytes`, or all there are. REQUIRES: growth_mutex_
// and the engine lock.
std::vector<Pool::Impl::Idle> Pool::Impl::claim_idle(std::size_t bytes) {
  std::vector<Idle> idle;
  if (bytes == 0) return idle;
  engine_.each_free_for_everybody(traits_.granularity,
                                  [&](ExtentId id, const SpanEngine::Extent& extent) {
                                    auto mapping = backing_.mappings().lower_bound(extent.address);
                                    for (; mapping != backing_.mappings().end() &&
                                           mapping->first + mapping->second.bytes <= extent.end();
                                         ++mapping) {
                                      idle.push_back({mapping->second, id});
                                    }
                                    return true;
                                  });
  std::sort(idle.begin(), idle.end(),
            [](const Idle& a, const Idle& b) { return a.mapping.address > b.mapping.address; });
  std::size_t count = 0;
  for (std::size_t sum = 0; count < idle.size() && sum < bytes; ++count) {
    // Downwards, so that an extent's lower part keeps its number.
    Idle& next = idle[count];
    try {
      next.extent = engine_.take({next.extent, next.mapping.address}, next.mapping.bytes);
    } catch (const std::bad_alloc&) {
      break;  // those so far will do
    }
    sum += next.mapping.bytes;
  }
  idle.resize(count);
  return idle;
}

// Idle memory moves rather than more being held, while there is much of it and the pool is far from
// its capacity: what a pool was given it may hold, what it was not others may need.
bool Pool::Impl::moves_first() const noexcept {
  const std::uint64_t held = backing_.held().current();
  if (!traits_.virtual_memory || !rungs_.has(LadderRung::remap)) return false;
  if (config_.idle_share > 0 && held >= config_.capacity / 4) return false;
  const std::lock_guard lock(engine_mutex_);
  return static_cast<double>(engine_.counts().free) >
         config_.idle_share * static_cast<double>(held);
}

// Unmaps claimed handles, which become holes; those that cannot be are free again. Returns whether
// all were. REQUIRES: growth_mutex_.
bool Pool::Impl::unmap_idle(const std::vector<Idle>& idle) {
  std::size_t done = 0;
  while (done < idle.size() && backing_.unmap(idle[done].mapping).ok()) ++done;
  const std::lock_guard lock(engine_mutex_);
  for (std::size_t i = 0; i < idle.size(); ++i) {
    if (i < done) {
      backing_.remove(idle[i].mapping);
      engine_.make_hole(idle[i].extent);
    } else {
      engine_.free(idle[i].extent, {});
    }
  }
  sample_levels();
  return done == idle.size();
}

// Mapped, without access, and not to be unmapped now: nobody may have it. What else there is of the
// part is a hole again. REQUIRES: growth_mutex_ and the engine lock.
void Pool::Impl::strand(ExtentId part, std::vector<Backing::Made>& made) {
  for (Backing::Made& one : made) {
    const Mapping mapping = backing_.add(std::move(one));
    ExtentId stuck = part;
    if (const std::size_t before = mapping.address - engine_.at(part).address; before > 0) {
      stuck = engine_.split(part, before);
      engine_.make_hole(part);
    }
    part = engine_.split(stuck, mapping.bytes);
    stuck_.emplace_back(mapping, stuck);
  }
  if (part != kNoExtent) engine_.make_hole(part);
}

// REQUIRES: growth_mutex_.
ExtentId Pool::Impl::grow_at_place(const Request& request, StreamState& state, Growth how,
                                   std::size_t cell, Rung* rung) {
  SpanEngine::Placement place;
  std::vector<SpanEngine::Part> parts;
  std::vector<Idle> idle;
  std::vector<std::vector<Backing::Made>> made;  // of each part
  {
    const std::lock_guard lock(engine_mutex_);
    place = engine_.find_placement(state.owner, request.span, request.alignment, cell);
    if (place.first == kNoExtent) return kNoExtent;
    const std::size_t missing = backing_.missing(place.fill);
    if (how == Growth::map && missing > 0) return kNoExtent;
    // In proportion to what there is, so that growing costs little however long it goes on; and to
    // what there may be, so that a small program on a large device grows once.
    const std::size_t scale = std::max<std::size_t>(
        backing_.held().current(), std::min(config_.capacity, traits_.total) / kSmallShare);
    std::size_t extra =
        static_cast<std::size_t>(config_.growth_step * static_cast<double>(scale)) / cell * cell;
    if (how != Growth::map || backing_.missing(place.fill + extra) > 0) extra = 0;
    // Claimed, so that nobody takes them meanwhile.
    parts = engine_.claim(place, request.span, cell, extra);
    const auto undo = [&] {
      for (const Idle& handle : idle) engine_.free(handle.extent, {});
      for (const SpanEngine::Part& part : parts) engine_.put_back(part);
    };
    try {
      made.resize(parts.size());
      if (how != Growth::map) {
        const std::size_t cached = std::min<std::size_t>(backing_.idle().current(), place.fill);
        idle = claim_idle(how == Growth::move ? place.fill - cached : missing);
      }
      // For what may be stranded, and what may have to be put back.
      const std::size_t handles = idle.size() + backing_.most_handles(place.fill + extra);
      stuck_.reserve(stuck_.size() + handles);
      std::size_t pieces = 0;
      for (const SpanEngine::Part& part : parts) pieces += part.pieces.size();
      engine_.keep_spare(2 * handles + pieces);
    } catch (...) {
      undo();
      throw;
    }
    std::size_t found = 0;
    for (const Idle& handle : idle) found += handle.mapping.bytes;
    if (found < missing) {
      undo();
      return kNoExtent;
    }
  }
  if (!idle.empty()) *rung = Rung::remap;
  SourceResult result;
  if (!unmap_idle(idle)) result.outcome = Outcome::failed;
  std::size_t tried = 0;
  for (; tried < parts.size() && result.ok(); ++tried) {
    const SpanEngine::Part& part = parts[tried];
    if (part.pieces.empty()) result = backing_.map(part.address, part.bytes, made[tried]);
  }
  const std::lock_guard lock(engine_mutex_);
  ExtentId first = kNoExtent;  // covers the first part
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const SpanEngine::Part& part = parts[i];
    ExtentId covering = kNoExtent;
    if (!part.pieces.empty() || i >= tried) {
      covering = engine_.put_back(part);
    } else if (i + 1 == tried && !result.ok()) {
      strand(part.id, made[i]);
    } else {
      for (Backing::Made& one : made[i]) backing_.add(std::move(one));
      high_water_ = std::max(high_water_, part.address + part.bytes);
      covering = engine_.free(part.id, {});
    }
    if (first == kNoExtent) first = covering;
  }
  sample_levels();
  if (!result.ok()) return kNoExtent;
  const Fit fit = engine_.fit_at(first, state.owner, place.address, request.span);
  return fit ? engine_.take(fit, request.span) : kNoExtent;
}

// Regions, where the source has no virtual memory
// --------------------------------------------------

// REQUIRES: growth_mutex_.
ExtentId Pool::Impl::grow_by_region(const Request& request, StreamState& state) {
  {
    const std::lock_guard lock(engine_mutex_);
    engine_.reserve_island();
  }
  Backing::Made made;
  if (!backing_.allocate_region(request.span, request.alignment, made).ok()) return kNoExtent;
  const std::lock_guard lock(engine_mutex_);
  const Mapping region = backing_.add(std::move(made));
  const Address begin = round_up(region.address, kSpanUnit);
  const ExtentId island = engine_.add_island(
      begin, round_down(region.address + region.bytes - begin, kSpanUnit), false);
  sample_levels();
  // In this region and no other: a search is bounded, and may not come as far as to it.
  const Fit fit =
      engine_.fit_at(island, state.owner, round_up(begin, request.alignment), request.span);
  return fit ? engine_.take(fit, request.span) : kNoExtent;
}

// Frees idle regions until the request fits. Each turn frees one or ends, and no more are freed
// than there were. REQUIRES: growth_mutex_.
ExtentId Pool::Impl::replace_regions(const Request& request, StreamState& state) {
  for (std::size_t left = backing_.mappings().size(); left > 0 && give_back_region() > 0; --left) {
    if (const ExtentId id = grow_by_region(request, state)) return id;
  }
  return kNoExtent;
}

// Giving back -------------------------------------------------------------------------------------

// Gives wholly idle memory back until no more than `keep` bytes are held, or all of it. In batches:
// large enough that looking for idle handles costs less than unmapping them, and small enough that
// others find what is not given back yet.
void Pool::Impl::give_back(std::size_t keep) {
  constexpr std::size_t kBatch = 64;  // handles
  const std::lock_guard growth(growth_mutex_);
  retry_stuck();
  close_retired();
  bool more = true;
  while (more && backing_.held().current() > keep) {
    more = traits_.virtual_memory ? give_back_handles(keep, kBatch) : give_back_region() > 0;
  }
}

// Whether any handle was given back. REQUIRES: growth_mutex_.
bool Pool::Impl::give_back_handles(std::size_t keep, std::size_t most) {
  const std::size_t before = backing_.held().current();
  backing_.release_idle(keep);
  const std::size_t held = backing_.held().current();
  if (held <= keep) return held < before;
  std::vector<Idle> idle;
  {
    const std::lock_guard lock(engine_mutex_);
    idle = claim_idle(std::min(held - keep, most * backing_.handle_size()));
    for (const Idle& handle : idle) leaving_ += handle.mapping.bytes;
  }
  const bool unmapped = unmap_idle(idle);
  {
    const std::lock_guard lock(engine_mutex_);
    leaving_ = 0;
  }
  backing_.release_idle(keep);
  return unmapped && backing_.held().current() < before;
}

// Frees one wholly idle region. Returns its bytes. REQUIRES: growth_mutex_.
std::size_t Pool::Impl::give_back_region() {
  Mapping region;
  ExtentId claim = kNoExtent;
  {
    const std::lock_guard lock(engine_mutex_);
    engine_.each_free_for_everybody(
        traits_.granularity - kSpanUnit, [&](ExtentId id, const SpanEngine::Extent& extent) {
          // A region's first and last bytes may be no whole units.
          const Address begin = extent.address - (kSpanUnit - 1);
          const auto found = backing_.mappings().lower_bound(begin);
          if (found == backing_.mappings().end() ||
              found->first + found->second.bytes > extent.end() + (kSpanUnit - 1)) {
            return true;
          }
          region = found->second;
          claim = id;
          return false;
        });
    if (claim == kNoExtent) return 0;
    claim = engine_.take({claim, engine_.at(claim).address}, engine_.at(claim).bytes);
  }
  const bool freed = backing_.free_region(region).ok();
  const std::lock_guard lock(engine_mutex_);
  if (freed) {
    backing_.remove(region);
    engine_.remove_island(claim);
  } else {
    engine_.free(claim, {});
  }
  sample_levels();
  return freed ? region.bytes : 0;
}

// What could not be unmapped when its mapping failed is tried again. REQUIRES: growth_mutex_.
void Pool::Impl::retry_stuck() {
  std::erase_if(stuck_, [this](const std::pair<Mapping, ExtentId>& stuck) {
    if (!backing_.unmap(stuck.first).ok()) return false;
    const std::lock_guard lock(engine_mutex_);
    backing_.remove(stuck.first);
    engine_.make_hole(stuck.second);
    sample_levels();
    return true;
  });
}

}  // namespace forebay::pool
