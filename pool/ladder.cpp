// The ladder: where memory comes from when the first search finds none.
#include <algorithm>
#include <array>
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

// A climb of the ladder for one request: a function for each rung.
class Pool::Impl::Ascent {
 public:
  Ascent(Impl& pool, const Request& request, StreamState& state, Rung* rung)
      : pool_(pool), request_(request), state_(state), rung_(rung), climb_(pool) {}

  ExtentId run() {
    // In the order of LadderRung. A rung that returns true has ended the climb.
    static constexpr std::array<bool (Ascent::*)(), kLadderRungs> kRungActions{
        &Ascent::completed, &Ascent::map,  &Ascent::steal,    &Ascent::remap,
        &Ascent::grow,      &Ascent::trim, &Ascent::callback, &Ascent::wait};
    for (const LadderRung rung : pool_.config_.ladder) {
      if ((this->*kRungActions[static_cast<std::size_t>(rung)])()) return id_;
      before_.add(rung);
    }
    if (pool_.has_room(request_.key, state_)) return kNoExtent;
    pool_.throw_out_of_memory(request_, state_, climb_.tried());
  }

 private:
  template <typename Action>
  bool step(Rung which, Action&& action) {
    *rung_ = which;
    return climb_.rung(which, [&] { return (id_ = action()) != kNoExtent; });
  }
  bool growing(Growth how, std::size_t limit) {
    return step(how == Growth::map ? Rung::map : Rung::remap,
                [&] { return pool_.grow(request_, state_, how, limit, rung_); });
  }
  ExtentId again() { return pool_.retry(request_, state_, before_); }

  bool completed() {
    *rung_ = Rung::completed;
    if (climb_.rung(Rung::completed, [&] { return pool_.trade(request_, state_); })) return true;
    const bool found = step(Rung::completed, [&] {
      // Empty carriers of this stream give way too, before any memory is added for it.
      const bool progress = pool_.poll_everybody();
      return pool_.drop_spares(state_) || progress ? pool_.search(request_, state_) : kNoExtent;
    });
    return found || (pool_.moves_first() && growing(Growth::move, pool_.config_.capacity));
  }
  bool map() {
    const std::size_t soft = pool_.config_.soft_limit;
    if (growing(Growth::map, soft)) return true;
    // What moving alone could not do, moving and adding may.
    return before_.has(LadderRung::remap) && growing(Growth::fill, soft);
  }
  // Capturing streams may not wait for others, nor the host for anybody meanwhile.
  bool steal() {
    return !capture_ && step(Rung::steal, [&] { return pool_.steal(request_, state_); });
  }
  bool remap() {
    return growing(before_.has(LadderRung::map) ? Growth::fill : Growth::move,
                   pool_.config_.soft_limit);
  }
  bool grow() {
    const std::size_t capacity = pool_.config_.capacity;
    if (pool_.config_.soft_limit >= capacity) return false;
    if (!pool_.rungs_.has(LadderRung::remap)) return growing(Growth::map, capacity);
    return growing(Growth::move, capacity) || growing(Growth::fill, capacity);
  }
  bool trim() {
    return step(Rung::trim, [&] { return pool_.drop_all_spares(state_) ? again() : kNoExtent; });
  }
  bool callback() {
    return step(Rung::callback, [&] { return pool_.relieve(request_.span) ? again() : kNoExtent; });
  }
  bool wait() {
    return !capture_ && step(Rung::wait, [&]() -> ExtentId {
      const auto deadline =
          std::chrono::steady_clock::now() + std::chrono::milliseconds(pool_.config_.wait_limit_ms);
      while (std::chrono::steady_clock::now() < deadline && pool_.wait_for_oldest()) {
        if (const ExtentId found = again()) return found;
        if (pool_.has_room(request_.key, state_)) return kNoExtent;
      }
      return kNoExtent;
    });
  }

  Impl& pool_;
  const Request& request_;
  StreamState& state_;
  Rung* rung_;
  Climb climb_;
  const bool capture_ = state_.keeps.load(std::memory_order_relaxed);
  RungSet before_;
  ExtentId id_ = kNoExtent;
};

ExtentId Pool::Impl::obtain(const Request& request, StreamState& state, Rung* rung) {
  return Ascent(*this, request, state, rung).run();
}

// What a rung that frees memory does once it has changed something: the search, and in one go what
// the rungs `before` it do.
ExtentId Pool::Impl::retry(const Request& request, StreamState& state, RungSet before) {
  poll_everybody();
  // What has come home may have emptied carriers.
  const bool all = rungs_.has(LadderRung::trim);
  if (all ? drop_all_spares(state) : drop_spares(state)) poll_everybody();
  Rung ignored = Rung::cache;
  ExtentId id = search(request, state);
  const bool moves = before.has(LadderRung::remap) ||
                     (before.has(LadderRung::grow) && rungs_.has(LadderRung::remap));
  if (id == kNoExtent && (moves || before.has(LadderRung::map) || before.has(LadderRung::grow))) {
    const std::size_t limit = before.has(LadderRung::grow) ? config_.capacity : config_.soft_limit;
    id = grow(request, state, moves ? Growth::fill : Growth::map, limit, &ignored);
  }
  if (id == kNoExtent && !state.keeps && before.has(LadderRung::steal)) {
    id = steal(request, state);
  }
  return id;
}

// Whether a carrier of this stream has room for a block, now that others gave way or were waited
// for; or another's, which becomes this stream's where the ladder allows it.
bool Pool::Impl::has_room(ClassKey key, StreamState& state) {
  if (key == kSpanClass) return false;
  {
    const std::lock_guard lock(state.mutex);
    if (state.cache.with_room(key) != nullptr) return true;
  }
  Rung ignored = Rung::cache;
  return rungs_.has(LadderRung::steal) && !state.keeps && adopt(key, state, &ignored);
}

bool Pool::Impl::relieve(std::size_t bytes) {
  // A callback that allocates all the same gets OutOfMemory where it would ask itself for ever.
  static thread_local std::vector<const Impl*> asking;
  if (std::find(asking.begin(), asking.end(), this) != asking.end()) return false;
  struct Asked {
    explicit Asked(const Impl* pool) { asking.push_back(pool); }
    ~Asked() { asking.pop_back(); }
  } asked(this);
  std::vector<PressureCallback> callbacks;
  {
    const std::lock_guard lock(handler_mutex_);
    callbacks = pressure_callbacks_;
  }
  return std::any_of(callbacks.begin(), callbacks.end(),
                     [bytes](const PressureCallback& callback) { return callback(bytes) > 0; });
}

bool Pool::Impl::drop_all_spares(const StreamState& state) {
  bool any = false;
  for (StreamState* other : open_states()) {
    if (other == &state || !other->keeps) any |= drop_spares(*other);
  }
  return any;
}

ExtentId Pool::Impl::search(const Request& request, StreamState& state) {
  const std::lock_guard lock(engine_mutex_);
  return find_and_take(request, state);
}

// REQUIRES: the engine lock.
ExtentId Pool::Impl::find_and_take(const Request& request, StreamState& state) {
  searches_.fetch_add(1, std::memory_order_relaxed);
  Fit fit = request.low ? engine_.find_lowest(state.owner, request.span, request.alignment)
                        : engine_.find(state.owner, request.span, request.alignment);
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
  std::array<SmallCache::Foreign, 32> home;
  for (std::size_t count = home.size(); count == home.size();) {
    {
      const std::lock_guard lock(state.mutex);
      count = state.cache.complete(passed, home);
      small_pending_.fold(state.cache.pending_delta);
    }
    for (std::size_t i = 0; i < count; ++i) send_home({home[i].carrier, home[i].index});
  }
  bool ready = false;
  {
    const std::lock_guard lock(engine_mutex_);
    engine_.complete(state.owner, passed);
    deferred_.complete(state, passed);
    ready = deferred_.any_ready(false);
    sample_levels();
  }
  // Regions wait until somebody polls: whoever calls here may have the growth lock.
  if (ready) release_deferred(false);
}

bool Pool::Impl::poll_everybody() {
  bool progress = false;
  for (StreamState* state : open_states()) {
    progress |= unpark(*state);
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
  progress |= release_deferred(false);
  progress |= release_deferred(true);
  return progress;
}

// Taking from others -----------------------------------------------------------------------------

ExtentId Pool::Impl::steal(const Request& request, StreamState& state) {
  const std::lock_guard growth(growth_mutex_);
  std::vector<Owner> mute;
  while (!closed()) {
    std::vector<Piece> pieces;
    std::vector<Stamp> stamps;
    const ExtentId claim = claim_from_others(request, state, mute, pieces, stamps);
    if (claim == kNoExtent) return kNoExtent;
    const auto refused = std::find_if_not(stamps.begin(), stamps.end(), [&](const Stamp& stamp) {
      return clockwork_.await(state, *state_by_owner(stamp.owner), stamp.point);
    });
    const std::lock_guard lock(engine_mutex_);
    sample_levels();
    if (refused == stamps.end()) return claim;
    // A stream that captures cannot be waited for; what others have may do.
    engine_.put_back(claim, pieces);
    mute.push_back(refused->owner);
  }
  return kNoExtent;
}

// A used extent of what other streams have freed, with the pieces that it was, and the latest point
// of each other stream that owned one. REQUIRES: growth_mutex_.
ExtentId Pool::Impl::claim_from_others(const Request& request, const StreamState& state,
                                       const std::vector<Owner>& without,
                                       std::vector<Piece>& pieces, std::vector<Stamp>& stamps) {
  const std::vector<StreamState*> others = open_states();
  const std::lock_guard lock(engine_mutex_);
  Fit best;
  std::size_t waste = ~std::size_t{0};
  for (const StreamState* other : others) {
    const bool mute = std::find(without.begin(), without.end(), other->owner) != without.end();
    if (other->keeps || other == &state || mute) continue;
    Fit fit = engine_.find_oldest(other->owner, request.span, request.alignment);
    if (!fit) fit = engine_.find(other->owner, request.span, request.alignment);
    if (fit && fit.rest < waste) {
      best = fit;
      waste = fit.rest;
    }
  }
  if (!best) best = engine_.find_any_run(request.span, request.alignment, without);
  if (!best) return kNoExtent;
  engine_.pieces(best, request.span, pieces);
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
  engine_.keep_spare(pieces.size());
  return engine_.take(best, request.span);
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
  release_deferred(false);
  release_deferred(true);
  return true;
}

}  // namespace forebay::pool
