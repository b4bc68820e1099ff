// Allocation and release with debug modes or call stacks on: around the pool, not inside it.
#include <algorithm>
#include <new>
#include <utility>

#include "pool/pool_impl.hpp"
#include "pool/units.hpp"

namespace forebay::pool {
namespace {

// A guarded block takes whole granules and a reservation, so their number is bounded, and their
// bytes to a part of the capacity.
constexpr std::size_t kMaxGuarded = 64, kGuardedPart = 8;

const char* tag_of(const AllocateOptions& options) {
  return options.tag != nullptr ? options.tag : AllocationScope::current();
}

}  // namespace

// A block of which something is noted. It goes back if that lacks host memory, as soon as there is
// some: a place for its free is there before, if there is any.
void* Pool::Impl::allocate_noted(std::size_t bytes, StreamId stream,
                                 const AllocateOptions& options) {
  PostponedPlace place(postponed_);
  void* block = nullptr;
  try {
    block = watch_ == nullptr ? allocate_block(bytes, 0, stream, options)
                              : allocate_watched(bytes, stream, options, &block);
    if (recorder_ != nullptr) {
      recorder_->allocated(reinterpret_cast<Address>(block), bytes, options.alignment, stream);
    }
  } catch (...) {
    if (block != nullptr && place) {
      place.put({block, stream, bytes});
    } else if (block != nullptr) {
      (void)release_or_postpone({block, stream, bytes});
    }
    throw;
  }
  return block;
}

// What is `made` is the caller's, even when this throws.
void* Pool::Impl::allocate_watched(std::size_t bytes, StreamId stream,
                                   const AllocateOptions& options, void** made) {
  if (watch_->guard_turn()) {
    if (void* block = allocate_guarded(bytes, stream, options, made)) return block;
  }
  void* block = nullptr;
  while (block == nullptr) {
    try {
      block = allocate_block(bytes, watch_->margin(), stream, options);
    } catch (const OutOfMemory&) {
      // What is only kept to find mistakes must not make one.
      if (!discharge(0).any) throw;
      failed_.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  *made = block;
  watch_->enter(reinterpret_cast<Address>(block), bytes, watch_->margin(), stream, tag_of(options),
                false);
  return block;
}

// A block whose end is the end of its memory. Null if there is none to be had without disturbing
// others: it is a sample, so any other block will do.
void* Pool::Impl::allocate_guarded(std::size_t bytes, StreamId stream,
                                   const AllocateOptions& options, void** made) {
  const std::size_t alignment = std::max(options.alignment, kMinAlignment);
  if (!is_power_of_two(alignment) || alignment > traits_.granularity || bytes > config_.capacity ||
      closed()) {
    return nullptr;
  }
  StreamState* state = state_of(stream);
  // Not for a capture, whose memory stays.
  if (state == nullptr || state->arena.load(std::memory_order_acquire) != nullptr) return nullptr;
  poll_everybody();  // freed ones go back first
  const std::size_t region_bytes = round_up(bytes, traits_.granularity);
  {
    const std::lock_guard lock(engine_mutex_);
    std::size_t taken = region_bytes;
    for (const auto& [address, block] : alone_) taken += block.region.bytes;
    if (alone_.size() >= kMaxGuarded || taken > config_.capacity / kGuardedPart) return nullptr;
  }
  Climb climb(*this);
  Room room;
  const bool found =
      climb.rung(Rung::map, [&] { return take_region(region_bytes, kMinAlignment, &room); });
  if (!found) return nullptr;
  const Mapping region = room.block.mapped().region;
  const Address end = region.address + region.bytes;
  const Address address = round_down(end - bytes, alignment);
  const Request request{bytes, region.bytes, alignment, 0, tag_of(options)};
  void* block = settle_alone(request, std::move(room), address, *state, stream, Rung::map);
  if (block == nullptr) {
    forget_thread_slot();
    return nullptr;
  }
  *made = block;
  // What the alignment left between the block and its guard is for the canary.
  watch_->enter(address, bytes, end - address - bytes, stream, request.tag, true);
  return block;
}

Misuse Pool::Impl::release_watched(void* pointer, StreamId stream, std::size_t bytes) {
  if (closed()) return Misuse::pool_closed;
  if (state_of(stream) == nullptr) return Misuse::wrong_device;
  const auto address = reinterpret_cast<Address>(pointer);
  const BlockWatch::Leave leave = watch_->leave(address, bytes, stream);
  if (leave.misuse != Misuse::none) return leave.misuse;
  Misuse misuse = Misuse::none;
  if (leave.quarantined) {
    discharge(watch_->quarantine_limit());
  } else {
    try {
      misuse = leave.guarded || is_alone(address) ? release_guarded(address, stream, bytes)
                                                  : release_live(pointer, stream, bytes);
    } catch (const std::bad_alloc&) {
      // Nobody will know of the damage when it is tried again.
      if (!leave.overrun || !postponed_.add({pointer, stream, bytes})) throw;
    }
  }
  return misuse == Misuse::none && leave.overrun ? Misuse::buffer_overrun : misuse;
}

// A guarded block, of which nothing is recorded any more if its free lacked host memory before.
bool Pool::Impl::is_alone(Address address) const {
  const std::lock_guard lock(engine_mutex_);
  return alone_.find(address) != alone_.end();
}

Misuse Pool::Impl::release_guarded(Address address, StreamId stream, std::size_t bytes) {
  while (true) {
    if (closed()) return Misuse::pool_closed;
    StreamState* state = state_of(stream);
    if (state == nullptr) return Misuse::wrong_device;
    bool again = false;
    const Misuse misuse = release_alone(address, *state, stream, bytes, &again);
    if (!again) return misuse;
    forget_thread_slot();
  }
}

Pool::Impl::Discharge Pool::Impl::discharge(std::size_t keep, const StreamId* of) {
  // So that whoever retires a stream finds none of its blocks on its way out.
  const std::lock_guard one_by_one(discharge_mutex_);
  Discharge result;
  while (true) {
    PostponedPlace place(postponed_);
    if (!place) return result;  // a block may come to need one
    const auto block = watch_->discharge(keep, of);
    if (!block) break;
    result.any = true;
    auto* pointer = reinterpret_cast<void*>(block->address);  // NOLINT(performance-no-int-to-ptr)
    if (!watch_->end(*block)) {
      report_misuse(counted(Misuse::use_after_free), pointer, block->stream, block->bytes);
    }
    Misuse misuse = Misuse::none;
    try {
      misuse = block->guarded ? release_guarded(block->address, block->stream, 0)
                              : release_live(pointer, block->stream, 0);
    } catch (const std::bad_alloc&) {
      place.put({pointer, block->stream, 0});
    }
    if (misuse != Misuse::none) report_misuse(counted(misuse), pointer, block->stream, 0);
  }
  result.complete = true;
  return result;
}

LeakReport Pool::Impl::leak_report() {
  const std::lock_guard growth(growth_mutex_);
  return closed() ? last_leaks_ : leaks_now();
}

LeakReport Pool::Impl::leaks_now() {
  LeakReport report;
  for (const Holder& holder : holders()) {
    report.groups.push_back({holder.tag, holder.blocks, holder.bytes, holder.bytes, 0, 0, {}});
    report.blocks += holder.blocks;
    report.bytes += holder.bytes;
  }
  return watch_ == nullptr ? report : watch_->report(std::move(report.groups));
}

}  // namespace forebay::pool
