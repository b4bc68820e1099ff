// How the span engine looks for a place among free ranges.
#include <algorithm>

#include "pool/span_engine.hpp"

namespace forebay::pool {

bool SpanEngine::is_top(const Extent& extent) const noexcept {
  return extent.next == 0 ||
         (at(extent.next).state == ExtentState::hole && at(extent.next).next == 0);
}

void SpanEngine::offer(ExtentId id, Address address, std::size_t bytes,
                       Choice& best) const noexcept {
  const Extent& extent = at(id);
  const Address end = address + bytes;
  if (end > extent.end()) return;
  const Choice choice{{id, address, extent.bytes - bytes},
                      cells_met(extent.address, extent.end(), address, end, cell_),
                      (end + cell_ - 1) / cell_ - address / cell_,
                      is_top(extent)};
  if (!best.fit || choice.before(best)) best = choice;
}

void SpanEngine::offer_run(ExtentId id, Owner owner, std::size_t bytes, std::size_t alignment,
                           Tight& best) const noexcept {
  ++probes_;
  if (best.settled(bytes, at(id).bytes)) return;
  ExtentId first = id, last = id;
  const auto usable = [&](ExtentId other) {
    ++probes_;
    return other != 0 && may_take(owner, at(other));
  };
  for (unsigned i = 0; i < kProbeNeighbours && usable(at(first).previous); ++i) {
    first = at(first).previous;
  }
  for (unsigned i = 0; i < kProbeNeighbours && usable(at(last).next); ++i) last = at(last).next;
  const Address begin = at(first).address, end = at(last).end();
  const Address address = round_up(begin, alignment);
  if (address + bytes > end) return;
  while (at(first).end() <= address) first = at(first).next;
  const Tight tight{{first, address, end - begin - bytes}, is_top(at(last))};
  if (!best.fit || tight.before(best)) best = tight;
}

void SpanEngine::choose(const Bins& bins, Owner owner, std::size_t bytes, std::size_t alignment,
                        Tight& best) const noexcept {
  unsigned visited = 0;
  for (unsigned bin = bins.next(BinScale::of(bytes / kUnit)); bin != BinScale::kBins;
       bin = bins.next(bin + 1)) {
    if (best.fit && !best.top && bin > BinScale::of((bytes + best.fit.rest) / kUnit)) return;
    unsigned probe = 0;
    for (ExtentId id = bins.head(bin); id != 0 && probe < kProbe; id = at(id).bin_next, ++probe) {
      if (best.settled(bytes, bytes)) return;
      offer_run(id, owner, bytes, alignment, best);
    }
    // Beyond this bin every range fits, however badly it lies.
    if (++visited >= kProbeBins) {
      if (best.fit) return;
      bin = std::max(bin, BinScale::of((bytes + alignment) / kUnit));
    }
  }
}

Fit SpanEngine::find(Owner owner, std::size_t bytes, std::size_t alignment) const noexcept {
  Tight best;
  const OwnerState* own = owner == kEverybody ? nullptr : find_owner(owner);
  if (own != nullptr) choose(own->bins, owner, bytes, alignment, best);
  choose(owners_[kEverybody]->bins, owner, bytes, alignment, best);
  if (own == nullptr) return best.fit;
  // What is too small by itself, but may lie in a run that is not.
  unsigned probe = 0;
  for (ExtentId id = own->queue_head; id != 0 && probe < kProbeRuns;
       id = at(id).queue_next, ++probe) {
    if (best.settled(bytes, bytes)) break;
    if (at(id).bytes < bytes) offer_run(id, owner, bytes, alignment, best);
  }
  return best.fit;
}

Fit SpanEngine::find_lowest(Owner owner, std::size_t bytes, std::size_t alignment) const noexcept {
  Choice best;
  const std::size_t lattice = bytes % kLattice == 0 ? std::max(kLattice, alignment) : 0;
  const auto look = [&](const Bins& bins) {
    unsigned budget = kLowestProbe;
    for (unsigned bin = bins.next(BinScale::of(bytes / kUnit)); bin != BinScale::kBins;
         bin = bins.next(bin + 1)) {
      for (ExtentId id = bins.head(bin); id != 0 && budget > 0; id = at(id).bin_next, --budget) {
        ++probes_;
        offer(id, round_up(at(id).address, alignment), bytes, best);
        if (lattice != 0) offer(id, round_up(at(id).address, lattice), bytes, best);
      }
    }
  };
  if (const OwnerState* own = find_owner(owner); own != nullptr && owner != kEverybody) {
    look(own->bins);
  }
  look(owners_[kEverybody]->bins);
  return best.fit;
}

Fit SpanEngine::find_oldest(Owner owner, std::size_t bytes, std::size_t alignment) const noexcept {
  if (find_owner(owner) == nullptr) return {};
  unsigned probe = 0;
  for (ExtentId id = owners_[owner]->queue_head; id != 0 && probe < kOldestProbe;
       id = at(id).queue_next, ++probe) {
    const Address address = round_up(at(id).address, alignment);
    if (address + bytes <= at(id).end() && at(id).stamp.point != kNever) {
      return {id, address, at(id).bytes - bytes};
    }
  }
  return {};
}

template <typename Usable>
Fit SpanEngine::run_from(ExtentId start, std::size_t bytes, std::size_t alignment,
                         std::size_t& budget, Usable&& usable) const noexcept {
  const Address address = round_up(at(start).address, alignment);
  ExtentId first = start;
  for (ExtentId id = start; id != 0 && budget > 0 && usable(at(id)); id = at(id).next, --budget) {
    ++probes_;
    if (at(id).end() <= address) first = at(id).next;
    if (at(id).end() >= address + bytes) return {first, address};
  }
  return {};
}

Fit SpanEngine::find_run(Owner owner, std::size_t bytes, std::size_t alignment,
                         std::size_t budget) const noexcept {
  const OwnerState* own = find_owner(owner);
  if (owner == kEverybody || own == nullptr) return {};
  const auto usable = [owner](const Extent& e) { return may_take(owner, e); };
  for (ExtentId id = own->queue_head; id != 0 && budget > 0; id = at(id).queue_next) {
    const ExtentId before = at(id).previous;
    const ExtentId start =
        before != 0 && at(before).state == ExtentState::free && at(before).stamp.owner == kEverybody
            ? before
            : id;
    if (const Fit fit = run_from(start, bytes, alignment, budget, usable)) return fit;
  }
  return {};
}

Fit SpanEngine::find_any_run(std::size_t bytes, std::size_t alignment,
                             const std::vector<Owner>& without) const noexcept {
  const auto usable = [&](const Extent& e) {
    return e.state == ExtentState::free && e.stamp.point != kNever &&
           std::find(without.begin(), without.end(), e.stamp.owner) == without.end();
  };
  for (const ExtentId first : islands_) {
    for (ExtentId id = first; id != 0; id = at(id).next) {
      if (!usable(at(id))) continue;
      std::size_t budget = ~std::size_t{0};
      if (const Fit fit = run_from(id, bytes, alignment, budget, usable)) return fit;
      // The run is too short from its first range on, so it is from every later one.
      while (at(id).next != 0 && usable(at(at(id).next))) id = at(id).next;
    }
  }
  return {};
}

Fit SpanEngine::fit_at(ExtentId from, Owner owner, Address address,
                       std::size_t bytes) const noexcept {
  const auto usable = [owner](const Extent& e) { return may_take(owner, e); };
  Fit fit{from, address};
  while (fit.first != 0 && at(fit.first).end() <= address) fit.first = at(fit.first).next;
  if (fit.first == 0 || at(fit.first).address > address) return {};
  for (ExtentId id = fit.first; id != 0 && usable(at(id)); id = at(id).next) {
    if (at(id).end() >= address + bytes) return fit;
  }
  return {};
}

}  // namespace forebay::pool
