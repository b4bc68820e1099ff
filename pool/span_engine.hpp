// The span engine: the one owner of addresses. It cuts ranges out of what is mapped.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "forebay/pool/memory_source.hpp"
#include "forebay/pool/timeline.hpp"
#include "pool/bins.hpp"
#include "pool/units.hpp"

namespace forebay::pool {

struct StreamState;

/// Who may take a free range: a stream by its number in this pool, or everybody.
using Owner = std::uint32_t;
inline constexpr Owner kEverybody = 0;
/// A point that never passes: the range stays with its owner.
inline constexpr Point kNever = ~Point{0};

using ExtentId = std::uint32_t;
inline constexpr ExtentId kNoExtent = 0;

/// The condition on which a free range may be taken: everything that `owner` was given up to
/// `point` is done. Its owner may take it at once.
struct Stamp {
  Owner owner = kEverybody;
  Point point = 0;
  friend bool operator==(const Stamp&, const Stamp&) = default;
};

/// A range with its stamp.
struct Piece {
  Address address = 0;
  std::size_t bytes = 0;
  Stamp stamp;
};

enum class ExtentState : std::uint8_t { used, free, hole };

/// A place for a request. `first` is kNoExtent when there is none.
struct Fit {
  ExtentId first = kNoExtent;  ///< the extent in which it begins; more may follow
  Address address = 0;
  std::size_t rest = 0;  ///< bytes that it leaves of what it was cut from, where a search says so
  [[nodiscard]] explicit operator bool() const noexcept { return first != kNoExtent; }
};

/// What the engine counts, in bytes and ranges; all kept incrementally.
struct SpanCounts {
  std::uint64_t used = 0;
  std::uint64_t free = 0;     ///< free for everybody
  std::uint64_t pending = 0;  ///< free for its owner only
  std::uint64_t holes = 0;    ///< addresses without memory
  std::uint64_t extents = 0;
};

/// Address ranges in one doubly linked list for each island (an island is a range of addresses that
/// may be cut and joined freely), and bins of the free ones for each owner.
///
/// A search changes nothing and may fail. `open_owner`, `reserve_island`, `keep_spare`, `pieces`
/// and the commits that cut ranges (`take`, `take_hole`, `claim`) may lack host memory, and change
/// nothing then. What undoes a commit (`split`, `put_back`) and an island after `reserve_island`
/// use records that commits leave over, as many as `keep_spare` said. Costs: a search looks at no
/// more than kProbe ranges in each of kProbeBins bins and kProbeRuns more of its owner's, and at
/// the kProbeNeighbours on either side of those that may be better; commits are O(1), but that a
/// range with an older point than the latest of its owner passes those with later ones. `find_run`,
/// which joins ranges of different stamps, walks as far as its budget. Not thread-safe; the pool's
/// engine lock guards it.
///
/// Invariants:
///  1. The extents of an island tile it; all sizes and addresses are multiples of kSpanUnit.
///  2. Two free neighbours never have equal stamps (everybody's ranges are always joined);
///     two holes are never neighbours.
///  3. A free range is in the bin of its size and in the queue of its owner, which is in the order
///     of points, so that what has passed is in front.
class SpanEngine {
 public:
  struct Extent {
    Address address = 0;
    std::size_t bytes = 0;
    ExtentId previous = 0, next = 0;              // by address
    ExtentId bin_previous = 0, bin_next = 0;      // free and holes: the same bin
    ExtentId queue_previous = 0, queue_next = 0;  // free with an owner: by point
    Stamp stamp;                                  // free
    Point since = 0;  // free: the earliest point that was put off to that of the stamp
    ExtentState state = ExtentState::used;
    bool clean = false;  // used: all of it was everybody's when it was taken
    bool block = false;  // used: a block of its own, of which SpanBlock tells more
    [[nodiscard]] Address end() const noexcept { return address + bytes; }
  };

  /// `cell`: bytes of a handle. Memory is mapped in cells, and whole free cells are kept whole.
  explicit SpanEngine(std::size_t cell = std::size_t{2} << 20);

  /// Makes room for the bins of an owner. Called once before its first range; twice is fine.
  void open_owner(Owner owner);
  /// From now on commits leave so many records over, and a few more, for what undoes one of them.
  void keep_spare(std::size_t extents);
  /// Makes sure that the next island needs no host memory.
  void reserve_island();
  /// A new island. `hole`: no memory there yet; else it is free for everybody.
  ExtentId add_island(Address address, std::size_t bytes, bool hole);
  /// Forgets an island. REQUIRES: it is one extent.
  void remove_island(ExtentId id);

  /// The beginning of the tightest run, then of the lowest. A run is neighbouring ranges that
  /// `owner` may take at once, whatever their stamps: what counts is how much room there is, not
  /// how soon others may have it, or small blocks would cut up room that is whole. Looks at a
  /// bounded number of ranges, the smaller ones and those that `owner` freed longest ago, and at
  /// as much of their runs.
  [[nodiscard]] Fit find(Owner owner, std::size_t bytes, std::size_t alignment) const noexcept;
  /// The lowest of a bounded number of ranges; those without a whole free cell come first.
  [[nodiscard]] Fit find_lowest(Owner owner, std::size_t bytes,
                                std::size_t alignment) const noexcept;
  /// The range of `owner` that has been free for longest, among a bounded number of those that fit.
  [[nodiscard]] Fit find_oldest(Owner owner, std::size_t bytes,
                                std::size_t alignment) const noexcept;
  /// A run of neighbouring ranges that belong to `owner` or to everybody. Looks at `budget` ranges.
  [[nodiscard]] Fit find_run(Owner owner, std::size_t bytes, std::size_t alignment,
                             std::size_t budget) const noexcept;
  /// A run of neighbouring free ranges, whoever owns them, but for those that never pass and those
  /// of the owners `without`. Walks everything that is free.
  [[nodiscard]] Fit find_any_run(std::size_t bytes, std::size_t alignment,
                                 const std::vector<Owner>& without = {}) const noexcept;
  /// The ranges that a fit covers, with their stamps.
  void pieces(const Fit& fit, std::size_t bytes, std::vector<Piece>& out) const;

  /// Makes the fit one used extent. What is left of the ranges keeps their stamps.
  ExtentId take(const Fit& fit, std::size_t bytes);
  /// A used extent becomes free under `stamp`; returns the extent that now covers it.
  ExtentId free(ExtentId id, Stamp stamp);
  /// A used extent becomes free in pieces: undoes a `take`. The pieces tile the extent. Returns the
  /// extent that covers the first one.
  ExtentId put_back(ExtentId id, const std::vector<Piece>& pieces);
  /// Cuts a used extent at `bytes`; returns the second part, kNoExtent if nothing is left for it.
  ExtentId split(ExtentId id, std::size_t bytes);

  /// What `owner` freed up to `passed` is everybody's now. O(ranges that change).
  void complete(Owner owner, Point passed);
  /// Everything free that belongs to `from` gets `stamp`. O(ranges that change).
  void restamp(Owner from, Stamp stamp);

  /// A place for a block in a gap: neighbouring ranges that its owner may take, and holes.
  struct Placement {
    ExtentId first = kNoExtent;  ///< the extent in which the block begins; kNoExtent: no place
    Address address = 0;
    std::size_t fill = 0;    ///< bytes to map
    std::size_t broken = 0;  ///< wholly free cells of which the block takes a part
    unsigned rests = 0;      ///< free ranges that it leaves on its two sides
    [[nodiscard]] bool before(const Placement& other) const noexcept {
      return std::tie(fill, broken, rests, address) <
             std::tie(other.fill, other.broken, other.rests, other.address);
    }
  };
  /// The place that needs the fewest new bytes, then breaks the fewest wholly free cells, then
  /// leaves the fewest rests, then is the lowest. Memory is mapped in cells, from where the block
  /// leaves the hole if it does. Looks at no more than kPlacementBudget holes. REQUIRES: no free
  /// range fits.
  [[nodiscard]] Placement find_placement(Owner owner, std::size_t bytes, std::size_t alignment,
                                         std::size_t cell) const noexcept;
  /// A used extent that was part of a gap: a hole, or free ranges as they were.
  struct Part {
    ExtentId id = kNoExtent;
    Address address = 0;
    std::size_t bytes = 0;
    std::vector<Piece> pieces;  ///< empty: a hole, to be mapped
  };
  /// Takes the free ranges and those parts of holes that a placement needs, in the order of their
  /// addresses; `extra` bytes more of the last hole, the one behind all memory.
  [[nodiscard]] std::vector<Part> claim(const Placement& place, std::size_t bytes, std::size_t cell,
                                        std::size_t extra);
  /// Undoes a `claim`, part by part. Returns the extent that covers the beginning of what was
  /// ranges.
  ExtentId put_back(const Part& part);
  /// The fit at `address` in ranges that `owner` may take, if there is one.
  [[nodiscard]] Fit fit_at(ExtentId from, Owner owner, Address address,
                           std::size_t bytes) const noexcept;
  /// Part of a hole becomes a used extent, to be mapped.
  ExtentId take_hole(ExtentId hole, Address address, std::size_t bytes);
  /// A used extent becomes a hole: nothing is mapped there any more.
  void make_hole(ExtentId id);

  /// Forgets all islands and owners; takes no host memory.
  void clear() noexcept;

  /// Calls `visit(id, extent)` for everybody's free ranges of at least `bytes`, the largest bins
  /// first, until it answers false.
  template <typename Visit>
  void each_free_for_everybody(std::size_t bytes, Visit&& visit) const {
    const unsigned lowest = BinScale::of(bytes / kUnit);
    const Bins& bins = owners_[kEverybody]->bins;
    for (unsigned bin = bins.last(); bin != BinScale::kBins; --bin) {
      for (ExtentId id = bins.head(bin); id != 0; id = at(id).bin_next) {
        if (at(id).bytes >= bytes && !visit(id, at(id))) return;
      }
      if (bin <= lowest) return;
    }
  }
  /// Calls `visit(id, extent)` for every extent, island by island.
  template <typename Visit>
  void each(Visit&& visit) const {
    for (ExtentId first : islands_) {
      for (ExtentId id = first; id != 0; id = at(id).next) visit(id, at(id));
    }
  }

  [[nodiscard]] Extent& at(ExtentId id) noexcept { return extents_[id / kChunk][id % kChunk]; }
  [[nodiscard]] const Extent& at(ExtentId id) const noexcept {
    return extents_[id / kChunk][id % kChunk];
  }

  [[nodiscard]] const SpanCounts& counts() const noexcept { return counts_; }
  [[nodiscard]] std::uint64_t pending(Owner owner) const noexcept;
  [[nodiscard]] std::size_t pending_ranges(Owner owner) const noexcept {
    return owner < owners_.size() && owners_[owner] ? owners_[owner]->ranges : 0;
  }
  [[nodiscard]] Point oldest_point(Owner owner) const noexcept;
  /// Bytes of the longest range that is free for everybody. Scans one bin.
  [[nodiscard]] std::uint64_t largest_free() const noexcept;
  /// Ranges that are free for everybody: their number and bytes by floor(log2(bytes)).
  struct SizeCount {
    std::uint64_t ranges = 0, bytes = 0;
  };
  [[nodiscard]] const std::array<SizeCount, 64>& free_by_log2() const noexcept {
    return free_by_log2_;
  }
  /// Bytes of host memory for the engine's own tables.
  [[nodiscard]] std::size_t metadata_bytes() const noexcept;

  /// Empty, or the first invariant that does not hold. Cost: everything.
  [[nodiscard]] std::string validate() const;

  /// Ranges that searches have looked at.
  [[nodiscard]] std::uint64_t probes() const noexcept { return probes_; }

 private:
  static constexpr std::size_t kUnit = 512;
  static constexpr Point kHeldBack = 1;  // points by which neighbours may put a range off
  static constexpr std::size_t kLattice = std::size_t{2} << 20;
  static constexpr std::size_t kChunk = 128;  // extent records a chunk
  static constexpr std::size_t kSpare = 8;    // … that are always kept for what undoes a commit
  static constexpr unsigned kProbe = 16;
  static constexpr unsigned kProbeBins = 4;
  static constexpr unsigned kProbeRuns = 8;             // of what an owner freed
  static constexpr unsigned kProbeNeighbours = 4;       // on either side
  static constexpr std::size_t kPlacementProbe = 32;    // ranges on either side of a hole
  static constexpr std::size_t kPlacementBudget = 512;  // holes
  static constexpr unsigned kOldestProbe = 64;
  static constexpr unsigned kLowestProbe = 256;

  struct OwnerState {
    Bins bins;
    ExtentId queue_head = 0, queue_tail = 0;
    std::uint64_t bytes = 0;
    std::size_t ranges = 0;
  };

  [[nodiscard]] static bool may_take(Owner owner, const Extent& extent) noexcept {
    return extent.state == ExtentState::free &&
           (extent.stamp.owner == kEverybody || extent.stamp.owner == owner);
  }
  /// Makes sure of records for so many new extents, beside the spare ones.
  void reserve(std::size_t extents);
  /// Makes sure of a record where none was kept.
  void need_record();
  ExtentId new_extent() noexcept;
  void drop(ExtentId id);
  [[nodiscard]] const OwnerState* find_owner(Owner owner) const noexcept {
    return owner < owners_.size() ? owners_[owner].get() : nullptr;
  }
  Bins& bins_of(const Extent& extent);
  void link_bin(ExtentId id);
  void unlink_bin(ExtentId id);
  void link_queue(ExtentId id, ExtentId after);
  void unlink_queue(ExtentId id);
  /// Into bins, queue and counts; out of them.
  void enlist(ExtentId id, ExtentId queue_after);
  void delist(ExtentId id);
  ExtentId insert_after(ExtentId id, Address address, std::size_t bytes);
  ExtentId settle(ExtentId id);
  /// Takes `other` out of its lists if a free range beside it joins it, under the later stamp.
  bool join(ExtentId id, ExtentId other);
  struct Tight {
    Fit fit;           // what it leaves is that of the run
    bool top = false;  // the run ends with the last range of all, which is spared
    [[nodiscard]] bool before(const Tight& other) const noexcept {
      return std::tie(top, fit.rest, fit.address) <
             std::tie(other.top, other.fit.rest, other.fit.address);
    }
    // Whether no other run with a range of at least `least` bytes leaves less.
    [[nodiscard]] bool settled(std::size_t bytes, std::size_t least) const noexcept {
      return fit && !top && least >= bytes + fit.rest;
    }
  };
  void offer_run(ExtentId id, Owner owner, std::size_t bytes, std::size_t alignment,
                 Tight& best) const noexcept;
  void choose(const Bins& bins, Owner owner, std::size_t bytes, std::size_t alignment,
              Tight& best) const noexcept;
  struct Choice {
    Fit fit;
    std::size_t broken = 0;   // wholly free cells of which it takes a part
    std::size_t touched = 0;  // cells in which it lies
    bool top = false;         // it is the last range of all, which is spared
    [[nodiscard]] bool before(const Choice& other) const noexcept {
      return std::tie(top, broken, touched, fit.address) <
             std::tie(other.top, other.broken, other.touched, other.fit.address);
    }
  };
  [[nodiscard]] bool is_top(const Extent& extent) const noexcept;
  void offer(ExtentId id, Address address, std::size_t bytes, Choice& best) const noexcept;
  /// Cells that lie wholly in the free range [begin, end) and meet [from, to).
  [[nodiscard]] static std::size_t cells_met(Address begin, Address end, Address from, Address to,
                                             std::size_t cell) noexcept {
    const Address first = std::max(round_up_to_multiple(begin, cell), from / cell * cell);
    const Address last = std::min(end / cell * cell, round_up_to_multiple(to, cell));
    return first < last ? (last - first) / cell : 0;
  }
  void claim_part(Part& part, ExtentId id, Address begin, Address end, std::size_t cell,
                  std::size_t extra);
  [[nodiscard]] Placement weigh(Owner owner, ExtentId first, Address address, std::size_t bytes,
                                std::size_t cell) const noexcept;
  template <typename Usable>
  [[nodiscard]] Fit run_from(ExtentId start, std::size_t bytes, std::size_t alignment,
                             std::size_t& budget, Usable&& usable) const noexcept;

  std::vector<std::unique_ptr<Extent[]>> extents_;  // chunks that never move; [0][0] is no extent
  ExtentId unused_ = 0;                             // records to use again, linked by `next`
  std::size_t unused_count_ = 0;
  std::size_t spare_ = kSpare;     // records that commits leave over
  ExtentId extents_end_ = 0;       // the first record never used
  std::vector<ExtentId> islands_;  // their first extents
  std::vector<std::unique_ptr<OwnerState>> owners_;
  std::size_t cell_;
  Bins holes_;
  SpanCounts counts_;
  std::array<SizeCount, 64> free_by_log2_{};
  mutable std::uint64_t probes_ = 0;
};

}  // namespace forebay::pool
