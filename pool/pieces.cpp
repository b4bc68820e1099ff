// Where a block lies in physical memory, for those who share it.
#include "pool/pool_impl.hpp"
#include "pool/units.hpp"

namespace forebay::pool {
namespace {

[[noreturn]] void refuse(Misuse misuse) {
  throw Error("pool: " + std::string(to_string(misuse)) +
              ": pieces are those of a live block, from its beginning");
}

}  // namespace

BlockPieces Pool::Impl::pieces(const void* pointer) {
  if (closed()) throw ClosedError("pool: pieces of a block after the pool was closed");
  if (!traits_.virtual_memory || config_.mode == PoolMode::passthrough) {
    throw Error("pool: memory that comes in regions has no pieces; it needs /pool/backing \"vmm\"");
  }
  const auto address = reinterpret_cast<Address>(pointer);
  BlockPieces block;
  StateLock owner_lock;
  while (block.bytes == 0) {
    if (Carrier* carrier = index_.carrier(address)) {
      StreamState* owner = nullptr;
      owner_lock = lock_owner(*carrier, &owner);
      const Carrier::Place place = owner == nullptr ? Carrier::Place{} : carrier->locate(address);
      if (place.slot == nullptr || place.slot->state != SlotState::live) {
        refuse(Misuse::double_free);
      }
      if (!place.exact) refuse(Misuse::interior_pointer);
      block.bytes = place.slot->requested;
    } else {
      Misuse misuse = Misuse::none;
      bool again = false;  // it became a carrier, or went, just now
      const SpanBlock* span = lock_live_span(address, 0, &owner_lock, &misuse, &again);
      if (span == nullptr && !again) refuse(misuse);
      if (span != nullptr) block.bytes = span->requested;
    }
  }
  const std::lock_guard lock(engine_mutex_);
  // The block is mapped throughout, so the mappings lie side by side.
  auto mapping = std::prev(backing_.mappings().upper_bound(address));
  block.offset = address - mapping->first;
  for (std::size_t reached = 0; reached < block.offset + block.bytes; ++mapping) {
    block.pieces.push_back({mapping->second.handle, mapping->second.bytes});
    reached += mapping->second.bytes;
  }
  return block;
}

}  // namespace forebay::pool
