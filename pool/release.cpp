// Giving blocks back, and telling misuse from use.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <new>

#include "pool/pool_impl.hpp"
#include "pool/units.hpp"

namespace forebay::pool {

Misuse Pool::Impl::release_block(void* pointer, StreamId stream, std::size_t bytes) {
  if (watch_ != nullptr) [[unlikely]]
    return release_watched(pointer, stream, bytes);
  return release_live(pointer, stream, bytes);
}

Misuse Pool::Impl::counted(Misuse misuse) noexcept {
  if (misuse != Misuse::none) {
    misuses_[static_cast<std::size_t>(misuse)].fetch_add(1, std::memory_order_relaxed);
  }
  return misuse;
}

Misuse Pool::Impl::release_live(void* pointer, StreamId stream, std::size_t bytes) {
  if (closed()) return Misuse::pool_closed;
  const auto address = reinterpret_cast<Address>(pointer);
  while (true) {
    StreamState* state = state_of(stream);
    if (state == nullptr) return Misuse::wrong_device;
    if (give_hit(address, stream, bytes)) return Misuse::none;
    bool again = false;
    Carrier* carrier = index_.carrier(address);
    const Misuse misuse = carrier != nullptr
                              ? release_small(carrier, address, *state, stream, bytes, &again)
                          : config_.mode == PoolMode::passthrough
                              ? release_alone(address, *state, stream, bytes, &again)
                              : release_span(address, *state, stream, bytes, &again);
    if (!again) return misuse;
    // The stream was retired, or the carrier moved, while this thread looked.
    forget_thread_slot();
  }
}

bool Pool::Impl::free_range(ExtentId id, Stamp stamp) {
  const SpanEngine::Extent& range = engine_.at(engine_.free(id, stamp));
  sample_levels();
  return stamp.point != kNever && range.bytes >= traits_.granularity &&
         backing_.last_inside(range.address, range.end()) != nullptr;
}

Stamp Pool::Impl::stamp_of_free(StreamState& state) noexcept {
  if (state.keeps.load(std::memory_order_relaxed)) return {state.owner, kNever};
  if (state.is_arena) {
    // It ended meanwhile, and another has what it had.
    if (state.heir->passed.load(std::memory_order_acquire) >= state.heir_point) return {};
    return {state.heir->owner, state.heir_point};
  }
  ++state.uncovered;
  state.wanted = true;
  return {state.owner, state.next_point};
}

void Pool::Impl::defer(DeferredFrees::Blocks one) noexcept {
  Deferred& deferred = one.front();
  StreamState* freed_on = deferred.freed_on;
  std::vector<Use>& uses = deferred.uses;
  if (std::none_of(uses.begin(), uses.end(), [&](const Use& use) {
        // A record may have stood for an earlier stream when the use was noted.
        return use.state == freed_on && use.stream == freed_on->stream;
      })) {
    uses.push_back({freed_on, freed_on->stream, 0});
  }
  std::array<StreamState*, 4> due{};  // further ones are due again at the next free
  std::size_t count = 0;
  for (Use& use : uses) {
    StreamState& state = *use.state;
    const std::lock_guard lock(state.mutex);
    if (!state.open || state.stream != use.stream) {
      use.state = nullptr;  // closed since, and it had passed its last point
    } else if (state.is_arena) {
      use.point = kNever;
    } else if (state.retiring) {
      use.point = state.next_point - 1;
    } else {
      use.point = state.next_point;
      ++state.uncovered;
      state.wanted = true;
      if (count < due.size() && point_due(state, false)) due[count++] = &state;
    }
  }
  std::erase_if(uses, [](const Use& use) { return use.state == nullptr; });
  {
    const std::lock_guard engine_lock(engine_mutex_);
    if (closed()) return;
    freed_on->deferred += deferred.bytes;
    deferred_bytes_ += deferred.bytes;
    ++deferred.user->awaited;
    deferred_.add(std::move(one));
    sample_levels();
  }
  for (std::size_t i = 0; i < count; ++i) record_point(*due[i]);
}

// Regions take the growth lock, which nobody who releases them may have.
bool Pool::Impl::release_deferred(bool regions) {
  DeferredFrees::Blocks ready, refused;
  {
    const std::lock_guard lock(engine_mutex_);
    ready = deferred_.take_ready(regions);
  }
  if (ready.empty()) return false;
  for (auto block = ready.begin(); block != ready.end();) {
    const auto next = std::next(block);
    if (block->small) send_home(block->small);
    if (regions && !free_alone(block->alone)) refused.splice(refused.end(), ready, block);
    block = next;
  }
  const std::lock_guard lock(engine_mutex_);
  if (closed()) return false;
  for (const Deferred& block : ready) {
    if (block.id != kNoExtent) engine_.free(block.id, {});
    if (block.freed_on == nullptr) continue;
    block.freed_on->deferred -= block.bytes;
    --block.user->awaited;
    deferred_bytes_ -= block.bytes;
  }
  deferred_.put_back(refused);
  sample_levels();
  return !ready.empty();
}

Misuse Pool::Impl::record_use(const void* pointer, StreamId stream) noexcept {
  if (pointer == nullptr) return Misuse::none;
  try {
    Misuse misuse = Misuse::none;
    if (watch_ != nullptr) misuse = watch_->share(reinterpret_cast<Address>(pointer));
    if (misuse == Misuse::none) misuse = record_live_use(pointer, stream);
    if (recorder_ != nullptr && misuse == Misuse::none) [[unlikely]] {
      recorder_->used(reinterpret_cast<Address>(pointer), stream);
    }
    return counted(misuse);
  } catch (const std::bad_alloc&) {
    return counted(Misuse::no_host_memory);
  }
}

// The uses of a block that `home` has, for `defer`: those that were noted if it is `shared`, and an
// arena's own, whose graph may use it until the arena ends. Throws std::bad_alloc where none were
// noted. REQUIRES: the engine lock.
DeferredFrees::Blocks Pool::Impl::take_uses(Address address, bool shared, StreamState& home) {
  DeferredFrees::Blocks one;
  if (shared) {
    const auto found = uses_.find(address);
    one = std::move(found->second);
    uses_.erase(found);
  } else {
    one = DeferredFrees::make(kFurtherUses);
  }
  if (home.keeps.load(std::memory_order_relaxed)) {
    one.front().uses.push_back({&home, home.stream, 0});
  }
  return one;
}

Misuse Pool::Impl::record_live_use(const void* pointer, StreamId stream) {
  if (closed()) return Misuse::pool_closed;
  StreamState* state = state_of(stream);
  if (state == nullptr) return Misuse::wrong_device;
  const auto address = reinterpret_cast<Address>(pointer);
  StateLock owner_lock;
  bool* shared = nullptr;
  if (Carrier* carrier = index_.carrier(address)) {
    StreamState* owner = nullptr;
    owner_lock = lock_owner(*carrier, &owner);
    const Carrier::Place place = owner == nullptr ? Carrier::Place{} : carrier->locate(address);
    if (place.slot == nullptr || place.slot->state != SlotState::live) return Misuse::double_free;
    if (!place.exact) return Misuse::interior_pointer;
    shared = &place.slot->shared;
  } else if (SpanBlock* block = lock_span(address, &owner_lock)) {
    if (block->freed.load(std::memory_order_relaxed)) return Misuse::double_free;
    shared = &block->shared;
  }
  const std::lock_guard lock(engine_mutex_);
  if (shared == nullptr) {
    const auto alone = alone_.find(address);
    if (alone == alone_.end()) return classify(address);
    if (!alone->second.live) return Misuse::double_free;
    shared = &alone->second.shared;
  }
  const auto [place, fresh] = uses_.try_emplace(address);
  try {
    if (fresh) place->second = DeferredFrees::make(1 + kFurtherUses);
    std::vector<Use>& known = place->second.front().uses;
    if (known.capacity() <= known.size() + kFurtherUses) known.reserve(2 * known.capacity());
  } catch (...) {
    if (fresh) uses_.erase(place);
    throw;
  }
  *shared = true;
  std::vector<Use>& uses = place->second.front().uses;
  // One use for each record: an earlier stream of the record has passed its last point, since the
  // record stands for another one now.
  const auto known =
      std::find_if(uses.begin(), uses.end(), [&](const Use& use) { return use.state == state; });
  if (known == uses.end()) {
    uses.push_back({state, stream, 0});
  } else {
    known->stream = stream;
  }
  return Misuse::none;
}

Misuse Pool::Impl::classify(Address address) const {
  if (auto block = alone_.upper_bound(address); block != alone_.begin()) {
    --block;
    if (address < block->first + block->second.requested) {
      return block->second.live ? Misuse::interior_pointer : Misuse::double_free;
    }
  }
  if (config_.mode == PoolMode::passthrough) return Misuse::foreign_pointer;
  // In memory of ours at all? The index goes down from the address, which may be anywhere.
  if (range_ != 0) {
    if (address < range_ || address >= high_water_) return Misuse::foreign_pointer;
  } else {
    const auto& regions = backing_.mappings();
    auto region = regions.upper_bound(address);
    if (region == regions.begin()) return Misuse::foreign_pointer;
    --region;
    if (address >= region->first + region->second.bytes) return Misuse::foreign_pointer;
  }
  if (const ExtentId id = index_.span_before(address)) {
    const bool live = !blocks_.at(id).freed.load(std::memory_order_relaxed);
    if (live && address < engine_.at(id).end()) return Misuse::interior_pointer;
  }
  return Misuse::double_free;  // nothing lives there: it was given back already
}

void Pool::Impl::report_misuse(Misuse misuse, const void* pointer, StreamId stream,
                               std::size_t bytes) noexcept {
  try {
    tell_misuse(misuse, pointer, stream, bytes);
  } catch (const std::bad_alloc&) {
    log("pool: misuse, and no host memory to say more of it");
  }
  // The host's lack of memory is nobody's mistake.
  if (config_.on_misuse == MisusePolicy::abort && misuse != Misuse::no_host_memory) std::abort();
}

void Pool::Impl::tell_misuse(Misuse misuse, const void* pointer, StreamId stream,
                             std::size_t bytes) {
  char address[32];
  std::snprintf(address, sizeof address, "%p", pointer);
  std::string line = "pool: " + std::string(to_string(misuse)) + " at " + address +
                     ", freed on stream " + std::to_string(stream);
  if (bytes != 0) line += " as " + std::to_string(bytes) + " bytes";
  if (watch_ != nullptr && (misuse == Misuse::buffer_overrun || misuse == Misuse::use_after_free)) {
    line += watch_->damage(reinterpret_cast<Address>(pointer));
  }
  MisuseHandler handler;
  {
    const std::lock_guard lock(handler_mutex_);
    handler = handler_;
  }
  if (handler) {
    handler(misuse, pointer, line);
  } else {
    log(line);
  }
}

}  // namespace forebay::pool
