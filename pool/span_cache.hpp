// The spans that a stream freed last, for its next allocations of the same sizes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "forebay/pool/pool.hpp"
#include "pool/delta.hpp"
#include "pool/span_engine.hpp"

namespace forebay::pool {

/// Parked spans stay used extents in the engine, so parking one and taking it again needs neither
/// the engine nor its lock. They are pending bytes of their stream. A miss gives them back before
/// anything else is tried, so they never keep memory from anybody.
///
/// Thread safety: the stream's mutex guards everything. Cost: at most kMost entries are looked at.
class SpanCache {
 public:
  struct Entry {
    std::size_t bytes = 0;
    Address address = 0;
    ExtentId id = kNoExtent;
    Point point = 0;  // what its free carries
  };
  static constexpr unsigned kMost = kMostParkedSpans + 1;

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] unsigned size() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t pending() const noexcept { return pending_; }

  /// REQUIRES: fewer than kMost are parked.
  void park(const Entry& entry) noexcept {
    entries_[count_++] = entry;
    note(static_cast<std::int64_t>(entry.bytes));
  }
  /// The latest span of exactly `bytes` at a multiple of `alignment`; kNoExtent if there is none.
  [[nodiscard]] ExtentId take(std::size_t bytes, std::size_t alignment) noexcept {
    for (unsigned i = count_; i-- > 0;) {
      if (entries_[i].bytes != bytes || (entries_[i].address & (alignment - 1)) != 0) continue;
      const ExtentId id = entries_[i].id;
      std::move(entries_.begin() + i + 1, entries_.begin() + count_, entries_.begin() + i);
      --count_;
      note(-static_cast<std::int64_t>(bytes));
      return id;
    }
    return kNoExtent;
  }
  /// Calls `visit(entry)` for the `count` oldest and forgets them. REQUIRES: there are so many.
  template <typename Visit>
  void give_back(unsigned count, Visit&& visit) {
    for (unsigned i = 0; i < count; ++i) {
      note(-static_cast<std::int64_t>(entries_[i].bytes));
      visit(entries_[i]);
    }
    std::move(entries_.begin() + count, entries_.begin() + count_, entries_.begin());
    count_ -= count;
  }

  /// Whether a span of exactly `bytes` at a multiple of `alignment` is parked.
  [[nodiscard]] bool has(std::size_t bytes, std::size_t alignment) const noexcept {
    return std::any_of(entries_.begin(), entries_.begin() + count_,
                       [&](const Entry& entry) { return fits(entry, bytes, alignment); });
  }
  /// The oldest such span if its free has passed.
  [[nodiscard]] bool take_passed(std::size_t bytes, std::size_t alignment, Point passed,
                                 Entry* taken) noexcept {
    const auto end = entries_.begin() + count_;
    const auto found = std::find_if(
        entries_.begin(), end, [&](const Entry& entry) { return fits(entry, bytes, alignment); });
    if (found == end || found->point > passed) return false;
    *taken = *found;
    std::move(found + 1, end, found);
    --count_;
    note(-static_cast<std::int64_t>(bytes));
    return true;
  }

  Delta pending_delta;

 private:
  [[nodiscard]] static bool fits(const Entry& entry, std::size_t bytes,
                                 std::size_t alignment) noexcept {
    return entry.bytes == bytes && (entry.address & (alignment - 1)) == 0;
  }
  void note(std::int64_t change) noexcept {
    pending_ += static_cast<std::uint64_t>(change);
    pending_delta.add(change);
  }

  unsigned count_ = 0;  // oldest first
  std::uint64_t pending_ = 0;
  std::array<Entry, kMost> entries_{};
};

}  // namespace forebay::pool
