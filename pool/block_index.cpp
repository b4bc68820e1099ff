#include "pool/block_index.hpp"

#include <cstdlib>
#include <new>

namespace forebay::pool {

BlockIndex::BlockIndex() : root_(new std::atomic<Leaf*>[std::size_t{1} << kRootBits] {}) {}

BlockIndex::~BlockIndex() {
  for (std::size_t i = 0; i < std::size_t{1} << kRootBits; ++i) {
    Leaf* found = root_[i].load(std::memory_order_relaxed);
    if (found == nullptr) continue;
    for (std::size_t w = 0; w < std::size_t{1} << kLeafBits; ++w) {
      if (found->used[w] == 0) continue;
      for (const auto& slot : found->windows[w].slots) {
        const std::uint64_t value = slot.load(std::memory_order_relaxed);
        if ((value & kTagMask) == kTable) delete table(value);
      }
    }
    std::free(found);
  }
}

BlockIndex::Leaf& BlockIndex::make_leaf(Address address) {
  const Address top = address >> (kWindowBits + kLeafBits);
  if (top >> kRootBits != 0) throw std::bad_alloc();
  Leaf* found = root_[top].load(std::memory_order_relaxed);
  if (found == nullptr) {
    // Zero pages that cost nothing until they are used: 2 MiB for each 16 GiB of addresses.
    found = static_cast<Leaf*>(std::calloc(1, sizeof(Leaf)));
    if (found == nullptr) throw std::bad_alloc();
    root_[top].store(found, std::memory_order_release);
    ++leaves_;
  }
  return *found;
}

void BlockIndex::set_word(Address address, std::uint64_t value) {
  Leaf& found = make_leaf(address);
  const std::size_t window = (address >> kWindowBits) & ((1u << kLeafBits) - 1);
  std::atomic<std::uint64_t>& slot = found.windows[window].slots[address / kSlot % kSlots];
  const bool was = slot.load(std::memory_order_relaxed) != kEmpty;
  slot.store(value, std::memory_order_release);
  found.used[window] += (value != kEmpty ? 1u : 0u) - (was ? 1u : 0u);
}

void BlockIndex::set_carrier(Address address, std::size_t bytes, Carrier* carrier) {
  for (Address end = address + bytes; address < end; address += kSlot) {
    set_word(address, reinterpret_cast<std::uint64_t>(carrier) | kCarrier);
  }
}

void BlockIndex::clear_carrier(Address address, std::size_t bytes) noexcept {
  // What was never set has no leaf, and making one could fail.
  for (Address end = address + bytes; address < end; address += kSlot) {
    if (word(address) != kEmpty) set_word(address, kEmpty);
  }
}

ExtentId BlockIndex::span(Address address) const noexcept {
  const std::uint64_t value = word(address);
  if ((value & kTagMask) != kTable) return lone_span(address);
  return address % 512 == 0 ? table(value)->ids[address % kSlot / 512] : kNoExtent;
}

void BlockIndex::set_span(Address address, ExtentId id) {
  const std::uint64_t value = word(address);
  if ((value & kTagMask) == kTable) {
    SpanTable& spans = *table(value);
    spans.count += spans.ids[address % kSlot / 512] == kNoExtent ? 1 : 0;
    spans.ids[address % kSlot / 512] = id;
  } else if ((value & kTagMask) == kSpan) {
    auto spans = std::make_unique<SpanTable>();
    spans->count = 2;
    spans->ids[(value >> 2) % kUnits] = static_cast<ExtentId>(value >> 32);
    spans->ids[address % kSlot / 512] = id;
    ++tables_;
    set_word(address, reinterpret_cast<std::uint64_t>(spans.release()) | kTable);
  } else {
    set_word(address, span_word(address, id));
  }
}

void BlockIndex::clear_span(Address address) noexcept {
  const std::uint64_t value = word(address);
  if ((value & kTagMask) == kTable) {
    SpanTable* spans = table(value);
    spans->ids[address % kSlot / 512] = kNoExtent;
    if (--spans->count > 0) return;
    delete spans;
    --tables_;
  }
  set_word(address, kEmpty);
}

ExtentId BlockIndex::span_before(Address address) const noexcept {
  constexpr Address kWindow = Address{1} << kWindowBits;
  constexpr Address kLeafSpan = kWindow << kLeafBits;
  Address at = address;
  while (true) {
    const Leaf* found = leaf(at);
    if (found == nullptr) {
      if (at < kLeafSpan) return kNoExtent;
      at = round_down(at, kLeafSpan) - 1;
      continue;
    }
    const std::size_t window = (at >> kWindowBits) & ((1u << kLeafBits) - 1);
    if (found->used[window] == 0) {
      if (at < kWindow) return kNoExtent;
      at = round_down(at, kWindow) - 1;
      continue;
    }
    const std::uint64_t value = word(at);
    const std::size_t unit = at % kSlot / 512;
    if ((value & kTagMask) == kCarrier) return kNoExtent;
    if ((value & kTagMask) == kSpan && (value >> 2) % kUnits <= unit) {
      return static_cast<ExtentId>(value >> 32);
    }
    if ((value & kTagMask) == kTable) {
      for (std::size_t u = unit + 1; u-- > 0;) {
        if (table(value)->ids[u] != kNoExtent) return table(value)->ids[u];
      }
    }
    if (at < kSlot) return kNoExtent;
    at = round_down(at, kSlot) - 1;
  }
}

std::size_t BlockIndex::metadata_bytes() const noexcept {
  return (sizeof(std::atomic<Leaf*>) << kRootBits) + leaves_ * sizeof(Leaf) +
         tables_ * sizeof(SpanTable);
}

}  // namespace forebay::pool
