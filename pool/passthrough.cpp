// Blocks that are regions of the source each, so that a memory checker sees their bounds: all of
// them in passthrough mode, else those that stand against unmapped memory.
#include <chrono>
#include <utility>

#include "pool/pool_impl.hpp"
#include "pool/units.hpp"

namespace forebay::pool {

// A block to be, with its region. Noted before `close` can come between, which frees what is noted.
bool Pool::Impl::take_region(std::size_t bytes, std::size_t alignment, Room* room) {
  AloneBlocks one;
  one.try_emplace(0);
  DeferredFrees::Blocks back = DeferredFrees::make(0);
  const std::lock_guard growth(growth_mutex_);
  if (closed()) return false;
  backing_.limit(config_.capacity, config_.headroom);
  Backing::Made made;
  if (!backing_.allocate_exactly(bytes, alignment, made).ok()) return false;
  *room = {one.extract(one.begin()), std::move(back)};
  const std::lock_guard lock(engine_mutex_);
  room->block.mapped().region = backing_.add(std::move(made));
  return true;
}

void* Pool::Impl::allocate_alone(const Request& request, StreamState& state, StreamId stream) {
  {
    const std::lock_guard lock(state.mutex);
    if (!serves(state, stream)) return nullptr;
  }
  Room room;
  const auto attempt = [&] {
    return take_region(request.bytes + request.margin, request.alignment, &room);
  };
  // What was freed goes back first: a use after it is to be seen.
  poll_everybody();
  Climb climb(*this);
  Rung rung = Rung::map;
  if (!climb.rung(rung, attempt)) {
    rung = Rung::wait;
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(config_.wait_limit_ms);
    const bool found = climb.rung(rung, [&] {
      while (std::chrono::steady_clock::now() < deadline && wait_for_oldest()) {
        if (attempt()) return true;
      }
      return false;
    });
    if (!found) {
      if (closed()) throw ClosedError("pool: closed during an allocation");
      throw_out_of_memory(request, state, climb.tried());
    }
  }
  const Address address = round_up(room.block.mapped().region.address, request.alignment);
  return settle_alone(request, std::move(room), address, state, stream, rung);
}

// Null if the state does not stand for the stream any more.
void* Pool::Impl::settle_alone(const Request& request, Room room, Address address,
                               StreamState& state, StreamId stream, Rung rung) {
  AloneBlocks::node_type& block = room.block;
  {
    const std::lock_guard lock(state.mutex);
    const std::lock_guard engine_lock(engine_mutex_);
    if (closed()) throw ClosedError("pool: closed during an allocation");
    const bool serving = serves(state, stream);
    const Mapping region = block.mapped().region;
    block.key() = address;
    block.mapped() = {region, &state, request.tag, request.bytes, serving, false};
    alone_.insert(std::move(block));
    if (serving) {
      ++state.counters.span_blocks;
      state.counters.span_bytes += region.bytes;
      account_in(state, request.bytes, region.bytes, rung);
      sample_levels();
      return reinterpret_cast<void*>(address);
    }
  }
  // The stream was retired meanwhile.
  if (!free_alone(address)) {
    // Nobody's, and ready to go as soon as the source takes it.
    room.back.front().alone = address;
    const std::lock_guard lock(engine_mutex_);
    if (!closed()) deferred_.put_back(room.back);
  }
  return nullptr;
}

Misuse Pool::Impl::release_alone(Address address, StreamState& state, StreamId stream,
                                 std::size_t bytes, bool* again) {
  Alone block;
  DeferredFrees::Blocks waits;
  {
    const std::lock_guard lock(state.mutex);
    const std::lock_guard engine_lock(engine_mutex_);
    if (closed()) return Misuse::pool_closed;
    if (!serves(state, stream)) {
      *again = true;
      return Misuse::none;
    }
    const auto found = alone_.find(address);
    if (found == alone_.end() || !found->second.live) return classify(address);
    if (bytes != 0 && bytes != found->second.requested) return Misuse::size_mismatch;
    waits = take_uses(address, found->second.shared, *found->second.user);
    found->second.live = false;
    block = found->second;
    --state.counters.span_blocks;
    state.counters.span_bytes -= block.region.bytes;
  }
  Deferred& one = waits.front();
  one.alone = address;
  one.bytes = block.region.bytes;
  one.freed_on = &state;
  one.user = block.user;
  defer(std::move(waits));
  account_foreign(state, *block.user, block.requested, block.region.bytes);
  return Misuse::none;
}

// Gives the region of a freed block back to the source; false if the source refuses.
bool Pool::Impl::free_alone(Address address) {
  const std::lock_guard growth(growth_mutex_);
  Mapping region;
  AloneBlocks::node_type block;
  {
    const std::lock_guard lock(engine_mutex_);
    // Out of the table before the source may hand the address out again.
    block = alone_.extract(address);
    if (block.empty()) return true;  // closed meanwhile
    region = block.mapped().region;
  }
  const bool freed = backing_.free_region(region).ok();
  const std::lock_guard lock(engine_mutex_);
  if (freed) {
    backing_.remove(region);
  } else {
    block.mapped() = {region, nullptr, nullptr, 0, false, false};
    alone_.insert(std::move(block));
  }
  return freed;
}

}  // namespace forebay::pool
