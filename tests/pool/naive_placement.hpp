// Where a block should go that no free range serves: every place that there is, weighed byte for
// byte.
#pragma once

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "pool/span_engine.hpp"
#include "pool/units.hpp"

namespace forebay::pool::test {

/// The best of all places that begin where an extent does or end where one does; of an engine with
/// one island. Cost: extents squared.
class NaivePlacement {
 public:
  struct Weight {
    Address address = 0;
    std::size_t fill = 0, broken = 0;
    unsigned rests = 0;
    [[nodiscard]] auto key() const { return std::tie(fill, broken, rests, address); }
  };

  NaivePlacement(const SpanEngine& engine, Owner owner, std::size_t own_cell)
      : owner_(owner), own_cell_(own_cell) {
    engine.each([&](ExtentId, const SpanEngine::Extent& extent) { extents_.push_back(extent); });
  }

  [[nodiscard]] std::optional<Weight> best(std::size_t bytes, std::size_t alignment,
                                           std::size_t cell) const {
    std::optional<Weight> best;
    const auto offer = [&](Address address) {
      const std::optional<Weight> weight = weigh(address, bytes, cell);
      if (weight && (!best || weight->key() < best->key())) best = weight;
    };
    for (const auto& extent : extents_) {
      const Address begin = round_up(extent.address, alignment);
      if (begin < extent.end()) offer(begin);
      // Nobody builds from the end of all addresses down.
      if (extent.end() == extents_.back().end() || extent.end() < bytes) continue;
      offer(round_down(extent.end() - bytes, alignment));
    }
    return best;
  }

 private:
  [[nodiscard]] bool usable(const SpanEngine::Extent& extent) const {
    return extent.state == ExtentState::free &&
           (extent.stamp.owner == kEverybody || extent.stamp.owner == owner_);
  }
  // Nothing if the block does not lie in one gap, or needs no hole.
  [[nodiscard]] std::optional<Weight> weigh(Address address, std::size_t bytes,
                                            std::size_t cell) const {
    const Address end = address + bytes;
    if (address < extents_.front().address || end > extents_.back().end()) return std::nullopt;
    Weight weight{address, 0, 0, 0};
    // Memory in which the block lies once the holes are filled.
    Address mapped_from = address, mapped_to = end;
    for (const auto& extent : extents_) {
      const Address from = std::max(address, extent.address), to = std::min(end, extent.end());
      if (from >= to) continue;
      if (extent.state == ExtentState::hole) {
        // Whole cells from the side on which the block goes on; from the front if it does not.
        Address first = from, last = to;
        if (to == extent.end()) {
          const std::size_t whole = round_up_to_multiple(to - from, cell);
          first = std::max(extent.address, to - std::min<Address>(whole, to));
        } else {
          first = extent.address + (from - extent.address) / cell * cell;
          last = std::min<Address>(first + round_up_to_multiple(to - first, cell), extent.end());
        }
        weight.fill += last - first;
        mapped_from = std::min(mapped_from, first);
        mapped_to = std::max(mapped_to, last);
      } else if (usable(extent)) {
        for (Address at = round_up_to_multiple(extent.address, own_cell_);
             at + own_cell_ <= extent.end(); at += own_cell_) {
          weight.broken += at < to && at + own_cell_ > from;
        }
      } else {
        return std::nullopt;
      }
    }
    if (weight.fill == 0) return std::nullopt;
    // A rest on a side: free memory beside the block, there already or mapped with it.
    for (const auto& extent : extents_) {
      const bool before = extent.address < address && extent.end() >= address;
      const bool after = extent.address <= end && extent.end() > end;
      if (before) weight.rests += usable(extent) || mapped_from < address;
      if (after) weight.rests += usable(extent) || mapped_to > end;
    }
    return weight;
  }

  std::vector<SpanEngine::Extent> extents_;
  Owner owner_;
  std::size_t own_cell_;
};

}  // namespace forebay::pool::test
