// Which size of block serves a request: slab classes and buddy orders.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "pool/units.hpp"

namespace forebay::pool {

/// A slab class (below kSlabClasses) or a buddy order (from kSlabClasses on).
using ClassKey = std::uint8_t;

inline constexpr std::size_t kSlabUnit = 256;
inline constexpr unsigned kSlabClasses = 48;
inline constexpr std::size_t kCarrierAlignment = 64 * kKiB;
inline constexpr std::size_t kChunkBytes = 2 * kMiB;
inline constexpr unsigned kMaxOrders = 10;  // 4 KiB to 2 MiB
inline constexpr unsigned kClassKeys = kSlabClasses + kMaxOrders;
inline constexpr ClassKey kSpanClass = 255;

/// Bytes of a slab class: multiples of 256 up to 2 KiB, then eight steps an octave, so that two
/// classes are at most 12.5 % apart.
constexpr std::size_t slab_bytes(unsigned index) noexcept {
  if (index < 8) return (index + 1) * kSlabUnit;
  return (8 + index % 8 + 1) * (kSlabUnit << (index / 8 - 1));
}

/// The smallest class of at least `bytes`. REQUIRES: 0 < bytes <= 64 KiB.
constexpr unsigned slab_class(std::size_t bytes) noexcept {
  if (bytes <= 8 * kSlabUnit) return static_cast<unsigned>((bytes + kSlabUnit - 1) / kSlabUnit) - 1;
  const unsigned octave = log2_floor((bytes - 1) / (8 * kSlabUnit));  // 0: up to 4 KiB
  const std::size_t step = kSlabUnit << octave;
  return 8 + octave * 8 + static_cast<unsigned>((bytes - (8 * step) + step - 1) >> (8 + octave)) -
         1;
}

/// Bytes of a page: the fewest multiples of 64 KiB that hold eight blocks and waste at most 1/32.
constexpr std::size_t slab_page_bytes(unsigned index) noexcept {
  const std::size_t block = slab_bytes(index);
  std::size_t page = kCarrierAlignment;
  while (page / block < 8 || (page % block) * 32 > page) page += kCarrierAlignment;
  return page;
}

inline constexpr std::size_t kMaxSlots = 256;

/// Records of carriers whose number of slots rounds up to the same power of two stand in for each
/// other; those of buddy chunks, for each other.
inline constexpr unsigned kRooms = log2_floor(kMaxSlots) + 2;
constexpr unsigned carrier_room(ClassKey key) noexcept {
  if (key >= kSlabClasses) return kRooms - 1;
  return log2_floor(std::bit_ceil(slab_page_bytes(key) / slab_bytes(key)));
}

namespace detail {
constexpr bool slab_classes_hold() {
  for (unsigned i = 0; i < kSlabClasses; ++i) {
    if (slab_class(slab_bytes(i)) != i) return false;
    if (slab_page_bytes(i) / slab_bytes(i) > kMaxSlots) return false;
    if (i > 0 && slab_class(slab_bytes(i - 1) + 1) != i) return false;
    if (i >= 8 && slab_bytes(i) * 8 > slab_bytes(i - 1) * 9) return false;
  }
  return slab_bytes(7) == 2 * kKiB && slab_bytes(kSlabClasses - 1) == 64 * kKiB;
}
static_assert(slab_classes_hold());

constexpr auto make_class_by_units() {
  std::array<ClassKey, 64 * kKiB / kSlabUnit + 1> table{};
  for (std::size_t units = 1; units < table.size(); ++units) {
    table[units] = static_cast<ClassKey>(slab_class(units * kSlabUnit));
  }
  return table;
}
inline constexpr auto kClassByUnits = make_class_by_units();
}  // namespace detail

/// How a pool's configuration sends requests to slabs, buddies and spans.
class SizeRouter {
 public:
  SizeRouter(std::size_t slab_max, std::size_t buddy_max) noexcept
      : slab_max_(slab_max),
        slab_limit_(largest_class(slab_max)),
        buddy_max_(buddy_max),
        leaf_log2_(log2_floor(std::max<std::size_t>(4 * kKiB, std::bit_ceil(slab_max + 1)))) {}

  [[nodiscard]] ClassKey route(std::size_t bytes, std::size_t alignment) const noexcept {
    // Nearly all requests. Blocks lie at multiples of a slab's unit.
    if (bytes <= slab_limit_ && alignment <= kSlabUnit) {
      return detail::kClassByUnits[(bytes + kSlabUnit - 1) / kSlabUnit];
    }
    if (alignment > kCarrierAlignment) return kSpanClass;
    const std::size_t least = round_up(bytes, alignment);
    if (least <= slab_max_) {
      for (unsigned index = slab_class(least); index < kSlabClasses; ++index) {
        // Blocks lie at multiples of their size.
        if (slab_bytes(index) > slab_max_) break;
        if ((slab_bytes(index) & (alignment - 1)) == 0) return static_cast<ClassKey>(index);
      }
    }
    if (least > buddy_max_ || 2 * least <= leaf_bytes()) return kSpanClass;
    const std::size_t leaves = (least + leaf_bytes() - 1) >> leaf_log2_;
    return static_cast<ClassKey>(kSlabClasses + log2_floor(std::bit_ceil(leaves)));
  }
  /// Bytes of the smallest buddy block.
  [[nodiscard]] std::size_t leaf_bytes() const noexcept { return std::size_t{1} << leaf_log2_; }
  [[nodiscard]] std::size_t block_bytes(ClassKey key) const noexcept {
    return key < kSlabClasses ? slab_bytes(key) : leaf_bytes() << (key - kSlabClasses);
  }
  [[nodiscard]] static std::size_t carrier_bytes(ClassKey key) noexcept {
    return key < kSlabClasses ? slab_page_bytes(key) : kChunkBytes;
  }

 private:
  // The largest class that is no larger, 0 if there is none.
  static std::size_t largest_class(std::size_t most) noexcept {
    std::size_t largest = 0;
    for (unsigned i = 0; i < kSlabClasses && slab_bytes(i) <= most; ++i) largest = slab_bytes(i);
    return largest;
  }

  const std::size_t slab_max_, slab_limit_, buddy_max_;
  const unsigned leaf_log2_;
};

}  // namespace forebay::pool
