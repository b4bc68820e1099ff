// From a pointer to its block: a two-level table of windows of 2 MiB.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "pool/span_engine.hpp"

namespace forebay::pool {

class Carrier;

/// A window has 32 slots of 64 KiB. A slot says which carrier (slab page or buddy chunk) covers it,
/// or which blocks of the span engine begin in it.
///
/// Thread safety: `carrier` and `lone_span` may be called at any time; everything else under the
/// pool's engine lock. Cost of a look-up: three dependent loads.
class BlockIndex {
 public:
  static constexpr std::size_t kSlot = std::size_t{1} << 16;

  BlockIndex();
  ~BlockIndex();
  BlockIndex(const BlockIndex&) = delete;
  BlockIndex& operator=(const BlockIndex&) = delete;

  /// The carrier whose memory holds `address`, null if there is none.
  [[nodiscard]] Carrier* carrier(Address address) const noexcept {
    const std::uint64_t value = word(address);
    if ((value & kTagMask) != kCarrier) return nullptr;
    return reinterpret_cast<Carrier*>(value & ~std::uint64_t{kTagMask});
  }
  /// REQUIRES: both are multiples of 64 KiB, and nothing else begins there.
  void set_carrier(Address address, std::size_t bytes, Carrier* carrier);
  void clear_carrier(Address address, std::size_t bytes) noexcept;

  /// The block that begins at `address`, if no other one begins in its slot; else kNoExtent, and
  /// `span` has to be asked.
  [[nodiscard]] ExtentId lone_span(Address address) const noexcept {
    const std::uint64_t value = word(address);
    const auto id = static_cast<ExtentId>(value >> 32);
    return address % 512 == 0 && value == span_word(address, id) ? id : kNoExtent;
  }
  /// The block that begins at `address`, kNoExtent if there is none.
  [[nodiscard]] ExtentId span(Address address) const noexcept;
  void set_span(Address address, ExtentId id);
  void clear_span(Address address) noexcept;
  /// The last block that begins at or before `address`, unless a carrier lies between. Walks back;
  /// only misuse pays for it.
  [[nodiscard]] ExtentId span_before(Address address) const noexcept;

  [[nodiscard]] std::size_t metadata_bytes() const noexcept;

 private:
  static constexpr unsigned kWindowBits = 21, kLeafBits = 13, kRootBits = 14;
  static constexpr unsigned kSlots = 32;
  static constexpr unsigned kUnits = kSlot / 512;
  enum Tag : std::uint64_t { kEmpty = 0, kCarrier = 1, kSpan = 2, kTable = 3, kTagMask = 3 };

  struct Window {
    std::atomic<std::uint64_t> slots[kSlots];
  };
  struct Leaf {
    std::uint32_t used[std::size_t{1} << kLeafBits];  // slots of each window that are not empty
    Window windows[std::size_t{1} << kLeafBits];
  };
  /// The blocks that begin in one slot, where there is more than one: by unit of 512 bytes.
  struct SpanTable {
    std::uint32_t count = 0;
    std::array<ExtentId, kUnits> ids{};
  };

  [[nodiscard]] Leaf* leaf(Address address) const noexcept {
    const Address top = address >> (kWindowBits + kLeafBits);
    return top >> kRootBits != 0 ? nullptr : root_[top].load(std::memory_order_acquire);
  }
  Leaf& make_leaf(Address address);
  [[nodiscard]] std::uint64_t word(Address address) const noexcept {
    const Leaf* found = leaf(address);
    if (found == nullptr) return kEmpty;
    return found->windows[(address >> kWindowBits) & ((1u << kLeafBits) - 1)]
        .slots[address / kSlot % kSlots]
        .load(std::memory_order_acquire);
  }
  void set_word(Address address, std::uint64_t word);
  static SpanTable* table(std::uint64_t word) noexcept {
    return reinterpret_cast<SpanTable*>(word & ~std::uint64_t{kTagMask});
  }
  // A single span: tag, unit within the slot, id.
  static std::uint64_t span_word(Address address, ExtentId id) noexcept {
    return kSpan | (address % kSlot / 512) << 2 | std::uint64_t{id} << 32;
  }

  std::unique_ptr<std::atomic<Leaf*>[]> root_;
  std::size_t leaves_ = 0, tables_ = 0;
};

}  // namespace forebay::pool
