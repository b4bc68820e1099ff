// Where a block goes when no free range fits: the place that needs the fewest new bytes.
#include <algorithm>

#include "pool/span_engine.hpp"
#include "pool/units.hpp"

namespace forebay::pool {
namespace {

// Part of a hole that has to be mapped, so that [begin, end) of it is.
struct Cover {
  Address address;
  std::size_t bytes;
};

// Whole cells from that side of the hole on which the block reaches beyond it.
Cover cover(Address hole, Address hole_end, Address begin, Address end, std::size_t cell) {
  begin = std::max(begin, hole);
  end = std::min(end, hole_end);
  if (end == hole_end) {
    const std::size_t bytes =
        std::min<std::size_t>(round_up_to_multiple(hole_end - begin, cell), hole_end - hole);
    return {hole_end - bytes, bytes};
  }
  const Address from = hole + (begin - hole) / cell * cell;
  return {from, std::min<std::size_t>(round_up_to_multiple(end - from, cell), hole_end - from)};
}

}  // namespace

// The walk through a gap (holes and ranges that `owner` may take) from one extent on.
SpanEngine::Placement SpanEngine::weigh(Owner owner, ExtentId first, Address address,
                                        std::size_t bytes, std::size_t cell) const noexcept {
  const Address end = address + bytes;
  Placement place{first, address, 0, 0, 0};
  const auto free = [this, owner](ExtentId id) { return id != 0 && may_take(owner, at(id)); };
  if (at(first).state != ExtentState::hole) {
    place.rests += at(first).address < address || free(at(first).previous);
  }
  for (ExtentId id = first; id != 0; id = at(id).next) {
    const Extent& extent = at(id);
    if (extent.state == ExtentState::hole) {
      const Cover mapped = cover(extent.address, extent.end(), address, end, cell);
      place.fill += mapped.bytes;
      if (id == first) {
        place.rests +=
            mapped.address < address || (mapped.address == extent.address && free(extent.previous));
      }
      if (extent.end() >= end) {
        place.rests +=
            mapped.address + mapped.bytes > end || (extent.end() == end && free(extent.next));
        return place;
      }
    } else if (may_take(owner, extent)) {
      place.broken += cells_met(extent.address, extent.end(), address, end, cell_);
      if (extent.end() >= end) {
        place.rests += extent.end() > end || free(extent.next);
        return place;
      }
    } else {
      return {};
    }
  }
  return {};
}

SpanEngine::Placement SpanEngine::find_placement(Owner owner, std::size_t bytes,
                                                 std::size_t alignment,
                                                 std::size_t cell) const noexcept {
  Placement best;
  const auto offer = [&](ExtentId first, Address address) {
    const Placement place = weigh(owner, first, address, bytes, cell);
    if (place.first != kNoExtent && (best.first == kNoExtent || place.before(best))) best = place;
  };
  // Blocks of which this hole is the first: those that begin at the start of a range before it or
  // at the hole, and those that end with a range behind it or with the hole.
  const auto consider = [&](ExtentId hole) {
    std::array<ExtentId, kPlacementProbe> before;
    std::size_t count = 0;
    before[count++] = hole;
    for (ExtentId id = at(hole).previous; id != 0 && count < before.size(); id = at(id).previous) {
      if (!may_take(owner, at(id)) || at(hole).address - at(id).end() >= bytes) break;
      before[count++] = id;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const Address address = round_up(at(before[i]).address, alignment);
      if (address < at(before[i]).end() && at(hole).address < address + bytes) {
        offer(before[i], address);
      }
    }
    const Address lowest = at(before[count - 1]).address;
    ExtentId id = hole;
    for (std::size_t i = 0; i < kPlacementProbe && id != 0; ++i, id = at(id).next) {
      if (i > 0 && at(id).state != ExtentState::hole && !may_take(owner, at(id))) break;
      if (at(id).next == 0) break;  // nobody builds from the end of all addresses down
      if (at(id).end() < lowest + bytes) continue;
      const Address address = round_down(at(id).end() - bytes, alignment);
      if (address < lowest) continue;
      if (address >= at(hole).end()) break;
      std::size_t in = 0;
      while (at(before[in]).address > address) ++in;
      offer(before[in], address);
    }
  };
  std::size_t budget = kPlacementBudget;
  for (unsigned bin = holes_.next(0); bin != BinScale::kBins; bin = holes_.next(bin + 1)) {
    for (ExtentId id = holes_.head(bin); id != 0 && budget > 0; id = at(id).bin_next, --budget) {
      consider(id);
    }
  }
  // The largest hole nearly always has room.
  if (budget == 0) consider(holes_.head(holes_.last()));
  return best;
}

std::vector<SpanEngine::Part> SpanEngine::claim(const Placement& place, std::size_t bytes,
                                                std::size_t cell, std::size_t extra) {
  std::vector<Part> parts;
  const Address end = place.address + bytes;
  try {
    for (ExtentId id = place.first; id != 0 && at(id).address < end;
         id = at(parts.back().id).next) {
      claim_part(parts.emplace_back(), id, std::max(at(id).address, place.address), end, cell,
                 extra);
    }
  } catch (...) {
    for (const Part& part : parts) {
      if (part.id != kNoExtent) put_back(part);
    }
    throw;
  }
  return parts;
}

// What there is of [begin, end) in the hole or the free ranges that begin with `id`.
void SpanEngine::claim_part(Part& part, ExtentId id, Address begin, Address end, std::size_t cell,
                            std::size_t extra) {
  if (at(id).state == ExtentState::hole) {
    Cover mapped = cover(at(id).address, at(id).end(), begin, end, cell);
    if (at(id).next == 0) {
      mapped.bytes = std::min<std::size_t>(mapped.bytes + extra, at(id).end() - mapped.address);
    }
    part.id = take_hole(id, mapped.address, mapped.bytes);
  } else {
    Address to = begin;
    for (ExtentId next = id; next != 0 && at(next).state == ExtentState::free && to < end;
         next = at(next).next) {
      to = std::min(at(next).end(), end);
    }
    const Fit fit{id, begin};
    pieces(fit, to - begin, part.pieces);
    part.id = take(fit, to - begin);
  }
  part.address = at(part.id).address;
  part.bytes = at(part.id).bytes;
}

}  // namespace forebay::pool
