// The calls themselves. Nearly all of them end here: a look at the thread's last stream, one lock
// that nobody else wants, and a few words of memory. Whatever is unusual leaves by one call.
//
// Cost of a pair: some 470 instructions of a slab block, one atomic exchange for each of the two
// locks.
#include "pool/hit_path.hpp"

#include "pool/scope.hpp"
#include "pool/units.hpp"

namespace forebay::pool {

[[gnu::always_inline]] inline void* Pool::Impl::hit(std::size_t bytes, StreamId stream,
                                                    const AllocateOptions& options) {
  // All of them at once, since all of them are usual.
  const ThreadSlot& slot = thread_slots[serial_ % kThreadSlots];
  if (static_cast<int>(slot.serial != serial_) | static_cast<int>(slot.stream != stream) |
      static_cast<int>(!plain_) | static_cast<int>(options.alignment != kMinAlignment))
      [[unlikely]] {
    return nullptr;
  }
  StreamState& state = *slot.state;
  const char* tag = options.tag != nullptr ? options.tag : current_tag;
  const ClassKey key = router_.route(bytes, kMinAlignment);
  const std::lock_guard lock(state.mutex);
  if (!serves(state, stream) || state.arena.load(std::memory_order_relaxed) != nullptr) {
    return nullptr;
  }
  if (key != kSpanClass) return HitPath::take(*this, key, bytes, tag, state, Rung::cache);
  return HitPath::unpark(*this, bytes, round_up(bytes, kSpanUnit), kMinAlignment, tag, state);
}

// Gives a block back to its stream's cache; false, and nothing has happened, if it has to go
// another way.
bool Pool::Impl::give_hit(Address address, StreamId stream, std::size_t bytes) {
  const ThreadSlot& slot = thread_slots[serial_ % kThreadSlots];
  if (static_cast<int>(slot.serial != serial_) | static_cast<int>(slot.stream != stream))
      [[unlikely]] {
    return false;
  }
  StreamState& state = *slot.state;
  HitPath::Given given = HitPath::Given::no;
  if (Carrier* carrier = index_.carrier(address)) {
    if (carrier->owner.load(std::memory_order_relaxed) != &state) return false;  // no lock for it
    carrier->prefetch();
    const std::lock_guard lock(state.mutex);
    if (!serves(state, stream) || state.keeps.load(std::memory_order_relaxed)) return false;
    given = HitPath::give(*this, *carrier, address, bytes, state);
  } else {
    const ExtentId id = span_at(address);
    if (id == kNoExtent) return false;
    const std::lock_guard lock(state.mutex);
    if (!serves(state, stream) || state.keeps.load(std::memory_order_relaxed)) return false;
    given = HitPath::park(*this, blocks_.at(id), address, bytes, state);
  }
  if (given == HitPath::Given::point_due) record_point(state);
  return given != HitPath::Given::no;
}

inline void* Pool::Impl::allocate(std::size_t bytes, StreamId stream,
                                  const AllocateOptions& options) {
  if (bytes == 0) return nullptr;
  if (is_turn<Timed::allocate>(config_.latency_sample)) [[unlikely]] {
    const LatencyTimer timer(allocate_latency_);
    return allocate_anyhow(bytes, stream, options);
  }
  if (void* block = hit(bytes, stream, options)) [[likely]]
    return block;
  return allocate_anyhow(bytes, stream, options);
}

[[gnu::noinline]] void* Pool::Impl::allocate_anyhow(std::size_t bytes, StreamId stream,
                                                    const AllocateOptions& options) {
  if (!postponed_.empty()) [[unlikely]]
    make_up(nullptr);
  if (watch_ == nullptr && recorder_ == nullptr) [[likely]]
    return allocate_block(bytes, 0, stream, options);
  return allocate_noted(bytes, stream, options);
}

inline Misuse Pool::Impl::release(void* pointer, StreamId stream, std::size_t bytes) noexcept {
  if (pointer == nullptr) return Misuse::none;
  if (is_turn<Timed::deallocate>(config_.latency_sample)) [[unlikely]] {
    const LatencyTimer timer(release_latency_);
    return release_anyhow(pointer, stream, bytes);
  }
  if (plain_ && give_hit(reinterpret_cast<Address>(pointer), stream, bytes)) [[likely]] {
    return Misuse::none;
  }
  return release_anyhow(pointer, stream, bytes);
}

[[gnu::noinline]] Misuse Pool::Impl::release_anyhow(void* pointer, StreamId stream,
                                                    std::size_t bytes) noexcept {
  if (!postponed_.empty()) [[unlikely]]
    make_up(nullptr);
  return release_or_postpone({pointer, stream, bytes});
}

void* Pool::allocate(std::size_t bytes, StreamId stream, const AllocateOptions& options) {
  return impl_->allocate(bytes, stream, options);
}

void Pool::deallocate(void* pointer, StreamId stream, std::size_t bytes) noexcept {
  const Misuse misuse = impl_->release(pointer, stream, bytes);
  if (misuse != Misuse::none) impl_->report_misuse(misuse, pointer, stream, bytes);
}

Misuse Pool::try_deallocate(void* pointer, StreamId stream, std::size_t bytes) noexcept {
  return impl_->release(pointer, stream, bytes);
}

}  // namespace forebay::pool
