// Slab pages.
#include <bit>

#include "pool/carrier.hpp"

namespace forebay::pool {

void Carrier::reset(Address at, std::size_t size, ExtentId id, std::size_t slots) {
  slots_.clear();
  slots_.reserve(std::bit_ceil(slots));  // so that every carrier of its room has enough
  slots_.resize(slots);
  address = at;
  bytes = size;
  extent = id;
  in_use = live = 0;
  live_bytes = pending = 0;
  last_point = 0;
  previous = next = queue_previous = queue_next = nullptr;
  listed = queued = false;
}

std::string Carrier::lie(const char* what) const {
  return std::string(kind == Kind::slab ? "slab page" : "buddy chunk") + " at " +
         std::to_string(address) + ": " + what;
}

void SlabPage::open(Address at, ExtentId id, unsigned class_index) {
  class_index_ = class_index;
  block_bytes_ = slab_bytes(class_index);
  const std::size_t page = slab_page_bytes(class_index);
  count_ = static_cast<std::uint32_t>(page / block_bytes_);
  const auto units = static_cast<std::uint32_t>(block_bytes_ / kSlabUnit);
  inverse_ = ((1u << 20) + units - 1) / units;
  reset(at, page, id, count_);
  free_ = {};
  pending_bits_ = {};
  for (std::uint32_t i = 0; i < count_; ++i) free_[i / 64] |= std::uint64_t{1} << (i % 64);
}

void SlabPage::complete() noexcept {
  pending_bits_ = {};
  pending = 0;
}

void SlabPage::suspend() noexcept {
  pending_bits_ = free_;
  pending = (count_ - in_use) * block_bytes_;
}

std::string SlabPage::validate() const {
  std::uint32_t used = 0, alive = 0;
  std::uint64_t waiting = 0;
  for (std::uint32_t i = 0; i < count_; ++i) {
    const bool is_free = (free_[i / 64] >> (i % 64) & 1) != 0;
    const bool is_pending = (pending_bits_[i / 64] >> (i % 64) & 1) != 0;
    const Slot& block = slots_[i];
    if (is_free != (block.state == SlotState::free)) return lie("the bitmap lies about a block");
    if (is_pending && !is_free) return lie("a block in use is pending");
    if (block.state == SlotState::live &&
        (block.requested == 0 || block.requested > block_bytes_)) {
      return lie("a block is too small for its request");
    }
    used += is_free ? 0 : 1;
    alive += block.state == SlotState::live ? 1 : 0;
    waiting += is_pending ? block_bytes_ : 0;
  }
  if (used != in_use || alive != live || waiting != pending) return lie("its counts are wrong");
  if (live_bytes != alive * block_bytes_) return lie("its bytes are wrong");
  return {};
}

}  // namespace forebay::pool
