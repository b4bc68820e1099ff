// The span engine's invariants, recomputed from its extents.
#include <array>
#include <string>
#include <vector>

#include "pool/span_engine.hpp"
#include "pool/units.hpp"

namespace forebay::pool {

std::string SpanEngine::validate() const {
  const auto lie = [this](ExtentId id, const char* what) {
    return "span engine: extent " + std::to_string(id) + " at " + std::to_string(at(id).address) +
           " of " + std::to_string(at(id).bytes) + " bytes " + what;
  };
  SpanCounts counts;
  std::array<SizeCount, 64> by_log2{};
  std::vector<std::uint64_t> owner_bytes(owners_.size(), 0);
  std::vector<std::size_t> owner_extents(owners_.size(), 0);
  std::size_t hole_extents = 0;
  for (const ExtentId first : islands_) {
    if (at(first).previous != 0) return lie(first, "begins an island but has a predecessor");
    for (ExtentId id = first; id != 0; id = at(id).next) {
      const Extent& extent = at(id);
      ++counts.extents;
      if (extent.bytes == 0) return lie(id, "is empty");
      if (extent.address % kUnit != 0 || extent.bytes % kUnit != 0) {
        return lie(id, "is no multiple of 512");
      }
      if (extent.next != 0) {
        const Extent& next = at(extent.next);
        if (next.previous != id) return lie(id, "is not its successor's predecessor");
        if (next.address != extent.end()) return lie(id, "does not touch its successor");
        if (extent.state == ExtentState::hole && next.state == ExtentState::hole) {
          return lie(id, "is a hole beside a hole");
        }
        if (extent.state == ExtentState::free && next.state == ExtentState::free &&
            extent.stamp == next.stamp) {
          return lie(id, "is free beside a free range of the same stamp");
        }
      }
      switch (extent.state) {
        case ExtentState::used:
          counts.used += extent.bytes;
          break;
        case ExtentState::hole:
          counts.holes += extent.bytes;
          ++hole_extents;
          break;
        case ExtentState::free:
          if (find_owner(extent.stamp.owner) == nullptr) return lie(id, "has an unknown owner");
          owner_bytes[extent.stamp.owner] += extent.bytes;
          ++owner_extents[extent.stamp.owner];
          if (extent.stamp.owner == kEverybody) {
            counts.free += extent.bytes;
            ++by_log2[log2_floor(extent.bytes)].ranges;
            by_log2[log2_floor(extent.bytes)].bytes += extent.bytes;
          } else {
            counts.pending += extent.bytes;
          }
          break;
      }
    }
  }
  if (counts.used != counts_.used || counts.free != counts_.free ||
      counts.pending != counts_.pending || counts.holes != counts_.holes ||
      counts.extents != counts_.extents) {
    return "span engine: its counts differ from its extents";
  }
  for (std::size_t log = 0; log < by_log2.size(); ++log) {
    if (by_log2[log].ranges != free_by_log2_[log].ranges ||
        by_log2[log].bytes != free_by_log2_[log].bytes) {
      return "span engine: the histogram differs at 2^" + std::to_string(log);
    }
  }
  const auto check_bins = [&](const Bins& bins, ExtentState state, Owner owner,
                              std::size_t expected) -> std::string {
    std::size_t seen = 0;
    for (unsigned bin = 0; bin < BinScale::kBins; ++bin) {
      if ((bins.next(bin) == bin) != (bins.head(bin) != 0)) {
        return "span engine: the bitmap lies about bin " + std::to_string(bin);
      }
      ExtentId before = 0;
      for (ExtentId id = bins.head(bin); id != 0; before = id, id = at(id).bin_next) {
        if (at(id).state != state || BinScale::of(at(id).bytes / kUnit) != bin ||
            (state == ExtentState::free && at(id).stamp.owner != owner) ||
            at(id).bin_previous != before) {
          return lie(id, "is in the wrong bin");
        }
        if (++seen > expected) return lie(id, "is in a bin too many");
      }
    }
    return seen == expected ? "" : "span engine: a range is missing from its bins";
  };
  if (auto text = check_bins(holes_, ExtentState::hole, 0, hole_extents); !text.empty()) {
    return text;
  }
  for (Owner owner = 0; owner < owners_.size(); ++owner) {
    if (!owners_[owner]) continue;
    const OwnerState& state = *owners_[owner];
    if (state.bytes != owner_bytes[owner]) return "span engine: an owner's bytes differ";
    if (auto text = check_bins(state.bins, ExtentState::free, owner, owner_extents[owner]);
        !text.empty()) {
      return text;
    }
    if (owner == kEverybody) continue;
    std::size_t queued = 0;
    ExtentId before = 0;
    for (ExtentId id = state.queue_head; id != 0; before = id, id = at(id).queue_next) {
      if (at(id).state != ExtentState::free || at(id).stamp.owner != owner ||
          at(id).queue_previous != before) {
        return lie(id, "is in the wrong queue");
      }
      if (before != 0 && at(before).stamp.point > at(id).stamp.point) {
        return lie(id, "is in its queue behind a later point");
      }
      if (++queued > owner_extents[owner]) return lie(id, "is in a queue too many");
    }
    if (queued != owner_extents[owner] || state.queue_tail != before) {
      return "span engine: a range is missing from its queue";
    }
  }
  return {};
}

}  // namespace forebay::pool
