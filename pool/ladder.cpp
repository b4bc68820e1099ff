// The ladder: where memory comes from when the first search finds none.
#include <algorithm>
#include <chrono>

#include "pool/pool_impl.hpp"
#include "pool/units.hpp"

namespace forebay::pool {
namespace {

// Ranges that a search for a run of this stream's own and everybody's memory looks at.
constexpr std::size_t kRunBudget = 512;

}  // namespace

std::string Pool::Impl::Climb::tried() const {
  std::string names;
  unsigned rung = 0;
  LadderStats::each_field([&](const char* name, Merge) {
    if ((tried_ >> rung++ & 1) == 0) return;
    if (!names.empty()) names += ", ";
    names += name;
  });
  return names;
}

ExtentId Pool::Impl::obtain(const Request& request, StreamState& state, Rung* rung) {
  ExtentId id = search(request, state);
  *rung = Rung::cache;
  if (id != kNoExtent) return id;
  Climb climb(*this);
  const auto step = [&](Rung which, auto&& action) {
    *rung = which;
    return climb.rung(which, [&] { return (id = action()) != kNoExtent; });
  };
  // Capturing streams may not wait for others, nor the host for anybody meanwhile.
  const bool capture = state.keeps.load(std::memory_order_relaxed);
  if (step(Rung::completed,
           [&] { return poll_everybody() ? search(request, state) : kNoExtent; }) ||
      step(Rung::map, [&] { return grow(request, state); }) ||
      (!capture && step(Rung::steal, [&] { return steal(request, state); })) ||
      step(Rung::trim, [&] { return make_room(request, state); })) {
    return id;
  }
  const auto wait = [&]() -> ExtentId {
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(config_.wait_limit_ms);
    while (std::chrono::steady_clock::now() < deadline && wait_for_oldest()) {
      if (const ExtentId found = search(request, state)) return found;
      if (const ExtentId found = make_room(request, state)) return found;
      if (const ExtentId found = steal(request, state)) return found;
    }
    return kNoExtent;
  };
  if (!capture && step(Rung::wait, wait)) return id;
  throw_out_of_memory(request, state, climb.tried());
}

ExtentId Pool::Impl::search(const Request& request, StreamState& state) {
  const std::lock_guard lock(engine_mutex_);
  Fit fit = engine_.find(state.owner, request.span, request.alignment);
  if (!fit) fit = engine_.find_run(state.owner, request.span, request.alignment, kRunBudget);
  return fit ? engine_.take(fit, request.span) : kNoExtent;
}

// Whether anybody may wait for a point of the stream.
bool Pool::Impl::awaits_points(const StreamState& state) const {
  if (state.under_way.load(std::memory_order_relaxed)) return true;
  const std::lock_guard lock(state.mutex);
  return state.uncovered > 0;
}

// What the stream freed up to the last point that has passed is everybody's.
void Pool::Impl::complete(StreamState& state) {
  const Point passed = state.passed.load(std::memory_order_acquire);
  std::vector<SmallCache::Foreign> home;
  {
    const std::lock_guard lock(state.mutex);
    state.cache.complete(passed, &home);
    small_pending_.fold(state.cache.pending_delta);
  }
  for (const SmallCache::Foreign& foreign : home) send_home({foreign.carrier, foreign.index});
  const std::lock_guard lock(engine_mutex_);
  engine_.complete(state.owner, passed);
  sample_levels();
}

bool Pool::Impl::poll_everybody() {
  bool progress = false;
  for (StreamState* state : open_states()) {
    bool passed = awaits_points(*state) && clockwork_.poll(*state);
    if (!passed) {
      // A claim that came to nothing may have brought ranges back whose point had passed meanwhile.
      const std::lock_guard lock(engine_mutex_);
      passed = engine_.oldest_point(state->owner) <= state->passed.load(std::memory_order_acquire);
    }
    if (!passed) continue;
    progress = true;
    complete(*state);
  }
  progress |= release_deferred();
  return progress;
}

// Growing ----------------------------------------------------------------------------------------

ExtentId Pool::Impl::grow(const Request& request, StreamState& state) {
  const std::lock_guard growth(growth_mutex_);
  if (closed()) return kNoExtent;
  // Somebody else may have grown while this thread waited for the lock.
  if (const ExtentId id = search(request, state)) return id;
  return traits_.virtual_memory ? grow_by_mapping(request, state) : grow_by_region(request, state);
}

// REQUIRES: growth_mutex_.
ExtentId Pool::Impl::grow_by_mapping(const Request& request, StreamState& state) {
  SpanEngine::Growth growth;
  ExtentId claim = kNoExtent, left = kNoExtent;
  std::vector<Piece> left_pieces;
  std::size_t room = 0;
  {
    const std::lock_guard lock(engine_mutex_);
    growth = engine_.find_growth(state.owner, request.span, request.alignment, traits_.granularity);
    if (growth.hole == kNoExtent || !backing_.could_map(growth.need, growth.room)) {
      return kNoExtent;
    }
    room = std::min<std::size_t>(growth.room,
                                 round_up_to_multiple(growth.need, backing_.handle_size()));
    // Claimed, so that nobody takes them meanwhile.
    if (growth.left_bytes > 0) {
      engine_.pieces(growth.left, growth.left_bytes, left_pieces);
      left = engine_.take(growth.left, growth.left_bytes);
    }
    if (room > 0) claim = engine_.take_hole(growth.hole, room);
  }
  std::vector<Mapping> made;
  SourceResult result;
  const Address begin = claim == kNoExtent ? 0 : engine_.at(claim).address;
  if (claim != kNoExtent) result = backing_.map(begin, growth.need, room, made);

  const std::lock_guard lock(engine_mutex_);
  ExtentId from = kNoExtent;
  if (claim != kNoExtent) {
    std::size_t mapped = 0;
    for (const Mapping& mapping : made) {
      backing_.add(mapping);
      if (result.ok()) {
        mapped += mapping.bytes;
        continue;
      }
      // Mapped, without access, and not to be unmapped now: nobody may have it.
      const std::size_t before = mapping.address - engine_.at(claim).address;
      ExtentId stuck = claim;
      if (before > 0) {
        stuck = engine_.split(claim, before);
        engine_.make_hole(claim);
      }
      claim = engine_.split(stuck, mapping.bytes);
      stuck_.emplace_back(mapping, stuck);
    }
    if (result.ok()) {
      high_water_ = std::max(high_water_, begin + mapped);
      if (const ExtentId rest = engine_.split(claim, mapped)) engine_.make_hole(rest);
      from = engine_.free(claim, {});
    } else if (claim != kNoExtent) {
      engine_.make_hole(claim);
    }
  }
  if (left != kNoExtent) from = engine_.put_back(left, left_pieces);
  sample_levels();
  if (!result.ok()) return kNoExtent;
  const Fit fit = engine_.fit_at(from, state.owner, growth.address, request.span);
  return fit ? engine_.take(fit, request.span) : kNoExtent;
}

// REQUIRES: growth_mutex_.
ExtentId Pool::Impl::grow_by_region(const Request& request, StreamState& state) {
  Mapping made;
  if (!backing_.allocate_region(request.span, request.alignment, made).ok()) return kNoExtent;
  {
    const std::lock_guard lock(engine_mutex_);
    backing_.add(made);
    const Address begin = round_up(made.address, kSpanUnit);
    engine_.add_island(begin, round_down(made.address + made.bytes - begin, kSpanUnit), false);
    sample_levels();
  }
  return search(request, state);
}

// Taking from others -----------------------------------------------------------------------------

ExtentId Pool::Impl::steal(const Request& request, StreamState& state) {
  const std::lock_guard growth(growth_mutex_);
  if (closed()) return kNoExtent;
  ExtentId claim = kNoExtent;
  std::vector<Piece> pieces;
  {
    const std::vector<StreamState*> others = open_states();
    const std::lock_guard lock(engine_mutex_);
    Fit best;
    std::size_t waste = ~std::size_t{0};
    for (const StreamState* other : others) {
      if (other->keeps || other == &state) continue;
      Fit fit = engine_.find_oldest(other->owner, request.span, request.alignment);
      if (!fit) fit = engine_.find(other->owner, request.span, request.alignment);
      if (fit && engine_.at(fit.first).bytes - request.span < waste) {
        best = fit;
        waste = engine_.at(fit.first).bytes - request.span;
      }
    }
    if (!best) best = engine_.find_any_run(request.span, request.alignment);
    if (!best) return kNoExtent;
    engine_.pieces(best, request.span, pieces);
    claim = engine_.take(best, request.span);
  }
  // The latest point of each stream that owned a piece.
  std::vector<Stamp> stamps;
  for (const Piece& piece : pieces) {
    if (piece.stamp.owner == kEverybody || piece.stamp.owner == state.owner) continue;
    const auto same = std::find_if(stamps.begin(), stamps.end(), [&](const Stamp& stamp) {
      return stamp.owner == piece.stamp.owner;
    });
    if (same == stamps.end()) {
      stamps.push_back(piece.stamp);
    } else {
      same->point = std::max(same->point, piece.stamp.point);
    }
  }
  const bool waits = std::all_of(stamps.begin(), stamps.end(), [&](const Stamp& stamp) {
    return clockwork_.await(state, *state_by_owner(stamp.owner), stamp.point);
  });
  const std::lock_guard lock(engine_mutex_);
  if (!waits) {
    engine_.put_back(claim, pieces);
    claim = kNoExtent;
  }
  sample_levels();
  return claim;
}

// Making room ------------------------------------------------------------------------------------

ExtentId Pool::Impl::make_room(const Request& request, StreamState& state) {
  for (StreamState* other : open_states()) {
    if (other == &state || !other->keeps) drop_spares(*other);
  }
  const std::lock_guard growth(growth_mutex_);
  if (closed()) return kNoExtent;
  retry_stuck();
  {
    // Nothing is moved for a request that all that is free could not serve.
    const std::lock_guard lock(engine_mutex_);
    const SpanEngine::Growth growth_place =
        engine_.find_growth(state.owner, request.span, request.alignment, traits_.granularity);
    if (traits_.virtual_memory && backing_.missing(growth_place.need) > engine_.counts().free) {
      return kNoExtent;
    }
  }
  // Each turn makes one mapping idle or ends, so there are no more turns than mappings.
  while (true) {
    if (const ExtentId id = search(request, state)) return id;
    const ExtentId id =
        traits_.virtual_memory ? grow_by_mapping(request, state) : grow_by_region(request, state);
    if (id != kNoExtent || unmap_one() == 0) return id;
  }
}

// REQUIRES: growth_mutex_.
std::size_t Pool::Impl::unmap_one() {
  Mapping mapping;
  ExtentId claim = kNoExtent;
  {
    const std::lock_guard lock(engine_mutex_);
    ExtentId in = kNoExtent;
    engine_.each_free_for_everybody(traits_.granularity, [&](ExtentId id,
                                                             const SpanEngine::Extent& extent) {
      // A region's first and last bytes may be no whole units.
      const Address slack = traits_.virtual_memory ? 0 : kSpanUnit - 1;
      const Mapping* inside = backing_.last_inside(extent.address - slack, extent.end() + slack);
      if (inside == nullptr) return true;
      mapping = *inside;
      in = id;
      return false;
    });
    if (in == kNoExtent) return 0;
    if (traits_.virtual_memory) {
      claim = engine_.take({in, mapping.address}, mapping.bytes);
    } else {
      claim = engine_.take({in, engine_.at(in).address}, engine_.at(in).bytes);
    }
  }
  const SourceResult result =
      traits_.virtual_memory ? backing_.unmap(mapping) : backing_.free_region(mapping);
  const std::lock_guard lock(engine_mutex_);
  if (!result.ok()) {
    engine_.free(claim, {});
    return 0;
  }
  backing_.remove(mapping);
  if (traits_.virtual_memory) {
    engine_.make_hole(claim);
  } else {
    engine_.remove_island(claim);
  }
  sample_levels();
  return mapping.bytes;
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

bool Pool::Impl::wait_for_oldest() {
  StreamState* oldest = nullptr;
  std::uint64_t sequence = ~std::uint64_t{0};
  for (StreamState* state : open_states()) {
    if (!awaits_points(*state)) continue;
    const std::uint64_t first = clockwork_.oldest_sequence(*state);
    if (first < sequence) {
      sequence = first;
      oldest = state;
    }
  }
  if (oldest == nullptr) return false;
  host_waits_.fetch_add(1, std::memory_order_relaxed);
  if (!clockwork_.synchronize_oldest(*oldest)) return false;
  complete(*oldest);
  release_deferred();
  return true;
}

}  // namespace forebay::pool
