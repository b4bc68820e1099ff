// What a pool counts: one list of fields gives the structs, the JSON, the table and the merge.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace forebay::pool {

// A list names the fields of one struct as X(type, name, merge): `merge` says what becomes of the
// field when the statistics of two pools are merged (add, largest, join, derived).
#define FOREBAY_STATS_MEMBER(type, name, merge) type name{};
#define FOREBAY_STATS_VISIT(type, name, merge) \
  visitor(#name, ::forebay::pool::Merge::merge, self.name...);
#define FOREBAY_STATS_STRUCT(list)                           \
  list(FOREBAY_STATS_MEMBER);                                \
  template <typename Visitor, typename... Self>              \
  static void each_field(Visitor&& visitor, Self&... self) { \
    list(FOREBAY_STATS_VISIT)                                \
  }

/// How a field of two pools becomes one. `derived` fields are recomputed from the others.
enum class Merge : std::uint8_t { add, largest, join, derived };

using Count = std::uint64_t;
/// Keys of a histogram are sizes in bytes or their logarithms.
using Histogram = std::map<std::uint64_t, std::uint64_t>;
/// Shares from 0 to 1 by a size in bytes.
using Shares = std::map<std::uint64_t, double>;

/// An amount now and at its highest. Merged peaks add: an upper bound.
/// `peak_at_s` = when the amount came within a thousandth of that peak: seconds since the pool was
/// made, 0 while the peak is 0, the later one of merged pools. Exact to a tick of a coarse clock,
/// some milliseconds; with several threads as inexact as the peak is.
#define FOREBAY_LEVEL_STATS(X) \
  X(Count, current, add) X(Count, peak, add) X(double, peak_at_s, largest)
struct Level {
  FOREBAY_STATS_STRUCT(FOREBAY_LEVEL_STATS)
};

/// An amount now, at its highest (as above), and all that ever came.
#define FOREBAY_FLOW_STATS(X) \
  X(Count, current, add)      \
  X(Count, peak, add) X(Count, total, add) X(double, peak_at_s, largest)
struct Flow {
  FOREBAY_STATS_STRUCT(FOREBAY_FLOW_STATS)
};

/// How often something happened and the microseconds that it took in all.
#define FOREBAY_TALLY_STATS(X) X(Count, count, add) X(Count, us, add)
struct Tally {
  FOREBAY_STATS_STRUCT(FOREBAY_TALLY_STATS)
};

/// Calls, the microseconds that they took in all, and the longest of them.
#define FOREBAY_CALL_STATS(X) X(Count, count, add) X(Count, us, add) X(Count, max_us, largest)
struct CallStats {
  FOREBAY_STATS_STRUCT(FOREBAY_CALL_STATS)
};

/// total = live + frees; failed ones are not among them.
#define FOREBAY_ALLOCATION_STATS(X) \
  X(Count, live, add) X(Count, total, add) X(Count, frees, add) X(Count, failed, add)
struct AllocationStats {
  FOREBAY_STATS_STRUCT(FOREBAY_ALLOCATION_STATS)
};

/// internal = 1 - requested / allocated; external = 1 - largest_free / free_in_ranges;
/// external_for = the share of free_in_ranges that a request of the key's size cannot use, since it
/// lies in shorter ranges; realized_at_peak = peak held / peak requested - 1.
/// Free ranges are those that any stream may take: their bytes in all, their number by
/// floor(log2(bytes)), the bytes in ranges below 2, 32 and 256 MiB, and the longest.
/// granule_occupancy = mapped granules by how many percent of them are in use, rounded down to tens
/// (a granule with anything in use counts as 10 at least); only `Pool::detailed_stats` fills it.
#define FOREBAY_FRAGMENTATION_STATS(X) \
  X(double, internal, derived)         \
  X(double, external, derived)         \
  X(Shares, external_for, derived)     \
  X(Count, largest_free, largest)      \
  X(Count, free_in_ranges, add)        \
  X(Histogram, free_below, add)        \
  X(double, realized_at_peak, derived) \
  X(Histogram, free_ranges_log2, add)  \
  X(Histogram, granule_occupancy, add)
struct FragmentationStats {
  FOREBAY_STATS_STRUCT(FOREBAY_FRAGMENTATION_STATS)
};

/// One size class of the slabs: `slots` of `bytes` each on `pages`, of which `used` are allocated.
#define FOREBAY_SLAB_CLASS_STATS(X) \
  X(Count, bytes, largest) X(Count, slots, add) X(Count, used, add) X(Count, pages, add)
struct SlabClassStats {
  FOREBAY_STATS_STRUCT(FOREBAY_SLAB_CLASS_STATS)
};

/// `tails` are the ends of pages that are too short for a block.
#define FOREBAY_SLAB_STATS(X) \
  X(Count, mapped, add)       \
  X(Count, allocated, add)    \
  X(Count, blocks, add)       \
  X(Count, tails, add)        \
  X(Count, pages, add) X(std::vector<SlabClassStats>, classes, join)
struct SlabStats {
  FOREBAY_STATS_STRUCT(FOREBAY_SLAB_STATS)
};

/// `free` blocks of `bytes` each.
#define FOREBAY_BUDDY_ORDER_STATS(X) X(Count, bytes, largest) X(Count, free, add)
struct BuddyOrderStats {
  FOREBAY_STATS_STRUCT(FOREBAY_BUDDY_ORDER_STATS)
};

#define FOREBAY_BUDDY_STATS(X) \
  X(Count, mapped, add)        \
  X(Count, allocated, add)     \
  X(Count, blocks, add) X(Count, chunks, add) X(std::vector<BuddyOrderStats>, orders, join)
struct BuddyStats {
  FOREBAY_STATS_STRUCT(FOREBAY_BUDDY_STATS)
};

/// `mapped` is what neither slabs nor buddy chunks took; extents counts used and free ranges.
#define FOREBAY_SPAN_STATS(X) \
  X(Count, mapped, add) X(Count, allocated, add) X(Count, blocks, add) X(Count, extents, add)
struct SpanStats {
  FOREBAY_STATS_STRUCT(FOREBAY_SPAN_STATS)
};

/// One stream: bytes of live blocks that were allocated on it; bytes freed on it that only it may
/// take so far; free bytes stranded in its pages and chunks, which others get by stealing only; how
/// its allocations went; its points; and how often it was made to wait for another stream.
#define FOREBAY_STREAM_STATS(X)  \
  X(Count, id, largest)          \
  X(Count, allocated, add)       \
  X(Count, pending, add)         \
  X(Count, stranded, add)        \
  X(Count, hits, add)            \
  X(Count, misses, add)          \
  X(Count, steals, add)          \
  X(Count, waits, add)           \
  X(Count, points_recorded, add) \
  X(Count, points_queried, add)
struct StreamStats {
  FOREBAY_STATS_STRUCT(FOREBAY_STREAM_STATS)
};

/// Rungs of the ladder: the allocations that each one served, and the time spent on it. The counts
/// add up to allocations.total. The time of `cache` is extrapolated from samples.
#define FOREBAY_LADDER_STATS(X) \
  X(Tally, cache, add)          \
  X(Tally, completed, add)      \
  X(Tally, map, add)            \
  X(Tally, steal, add)          \
  X(Tally, remap, add) X(Tally, trim, add) X(Tally, callback, add) X(Tally, wait, add)
struct LadderStats {
  FOREBAY_STATS_STRUCT(FOREBAY_LADDER_STATS)
};

/// Calls of the memory source, failed ones too.
#define FOREBAY_DRIVER_STATS(X) \
  X(CallStats, create, add)     \
  X(CallStats, map, add)        \
  X(CallStats, set_access, add) \
  X(CallStats, unmap, add)      \
  X(CallStats, release, add)    \
  X(CallStats, reserve, add)    \
  X(CallStats, unreserve, add) X(CallStats, allocate_region, add) X(CallStats, free_region, add)
struct DriverStats {
  FOREBAY_STATS_STRUCT(FOREBAY_DRIVER_STATS)
};

/// Calls of the timeline.
#define FOREBAY_TIMELINE_STATS(X) \
  X(Count, records, add) X(Count, queries, add) X(Count, waits, add) X(Count, synchronizes, add)
struct TimelineStats {
  FOREBAY_STATS_STRUCT(FOREBAY_TIMELINE_STATS)
};

/// Nanoseconds, at most 1/8 too high but for `max`; merging keeps the larger percentile.
#define FOREBAY_PERCENTILE_STATS(X) \
  X(Count, count, add)              \
  X(Count, p50, largest) X(Count, p99, largest) X(Count, p999, largest) X(Count, max, largest)
struct PercentileStats {
  FOREBAY_STATS_STRUCT(FOREBAY_PERCENTILE_STATS)
};

/// One operation in `sampled_1_in` is timed, and every miss: from the end of the first search to
/// the block or to OutOfMemory.
#define FOREBAY_LATENCY_STATS(X)    \
  X(Count, sampled_1_in, largest)   \
  X(PercentileStats, allocate, add) \
  X(PercentileStats, deallocate, add) X(PercentileStats, miss, add)
struct LatencyStats {
  FOREBAY_STATS_STRUCT(FOREBAY_LATENCY_STATS)
};

/// How often a thread had to wait for a lock, and for how long in all.
#define FOREBAY_LOCK_STATS(X) X(Tally, engine, add) X(Tally, growth, add)
struct LockStats {
  FOREBAY_STATS_STRUCT(FOREBAY_LOCK_STATS)
};

/// What debug modes and leak tracing are doing: blocks that they know, those against unmapped
/// memory, those kept from being used again (which still count as live and allocated), fills, and
/// comparisons with what was filled in. `unchecked` comparisons could not be made, since the stream
/// was capturing or the device refused.
#define FOREBAY_DEBUG_STATS(X)      \
  X(Count, records, add)            \
  X(Count, guarded, add)            \
  X(Count, quarantined_blocks, add) \
  X(Count, quarantined_bytes, add)  \
  X(Count, fills, add) X(Count, checks, add) X(Count, unchecked, add)
struct DebugStats {
  FOREBAY_STATS_STRUCT(FOREBAY_DEBUG_STATS)
};

/// Misuse, by what it was; in the order of the enumeration Misuse.
#define FOREBAY_ERROR_STATS(X)    \
  X(Count, double_free, add)      \
  X(Count, interior_pointer, add) \
  X(Count, foreign_pointer, add)  \
  X(Count, size_mismatch, add)    \
  X(Count, wrong_device, add)     \
  X(Count, pool_closed, add)      \
  X(Count, buffer_overrun, add) X(Count, use_after_free, add) X(Count, no_host_memory, add)
struct ErrorStats {
  FOREBAY_STATS_STRUCT(FOREBAY_ERROR_STATS)
};

/// A range of addresses with memory, or an idle handle, whose address is 0.
/// client: span (a block of its own, or a free range), slab (a page), buddy (a chunk), handle.
/// state: used, pending (only `stream` may take it so far), free (anybody may), stuck (the source
/// would neither open nor unmap it), idle. A page or chunk is used if a block in it is live, else
/// pending if one is; `allocated` and `pending` tell the bytes, the rest of it is free.
/// stream: who allocated the block or owns the page; 0 where it is nobody's.
#define FOREBAY_MAP_RANGE_STATS(X) \
  X(Count, address, largest)       \
  X(Count, bytes, add)             \
  X(std::string, client, join)     \
  X(std::string, state, join)      \
  X(Count, stream, largest)        \
  X(Count, allocated, add)         \
  X(Count, pending, add)
struct MapRange {
  FOREBAY_STATS_STRUCT(FOREBAY_MAP_RANGE_STATS)
};

/// The `pool` object of forebay.stats/1. Sizes in bytes. At rest:
/// requested <= allocated; allocated + pending + free = mapped;
/// mapped + idle_handles = held <= capacity; slab + buddy + span = mapped, and their blocks =
/// allocations.live; fragmentation.free_in_ranges + stranded of streams + slab.tails <= free, and
/// equal unless memory is stuck that the source would not unmap. `miss_path` is all time spent
/// beyond the first search. `age_s` is the seconds since the pool was made, on the clock of the
/// peaks. `map` is filled by `Pool::detailed_stats` on demand, by address, idle handles last;
/// map_left_out = ranges beyond those asked for. A whole map adds up: bytes but those of handles to
/// `mapped` (regions: less than a unit at their ends is left out), those of handles to
/// `idle_handles`, `allocated` and `pending` to theirs.
#define FOREBAY_POOL_STATS(X)                \
  X(Flow, requested, add)                    \
  X(Flow, allocated, add)                    \
  X(Level, pending, add)                     \
  X(Level, free, add)                        \
  X(Level, mapped, add)                      \
  X(Level, idle_handles, add)                \
  X(Level, held, add)                        \
  X(Count, capacity, add)                    \
  X(Count, address_range, add)               \
  X(Count, host_metadata, add)               \
  X(AllocationStats, allocations, add)       \
  X(FragmentationStats, fragmentation, add)  \
  X(SlabStats, slab, add)                    \
  X(BuddyStats, buddy, add)                  \
  X(SpanStats, span, add)                    \
  X(std::vector<StreamStats>, streams, join) \
  X(LadderStats, ladder, add)                \
  X(DriverStats, driver, add)                \
  X(TimelineStats, timeline, add)            \
  X(Count, device_syncs, add)                \
  X(Count, host_waits, add)                  \
  X(Tally, miss_path, add)                   \
  X(LatencyStats, latency_ns, add)           \
  X(LockStats, locks, add)                   \
  X(DebugStats, debug, add)                  \
  X(ErrorStats, errors, add)                 \
  X(double, age_s, largest)                  \
  X(std::vector<MapRange>, map, join)        \
  X(Count, map_left_out, add)
struct PoolStats {
  FOREBAY_STATS_STRUCT(FOREBAY_POOL_STATS)

  /// Free bytes in the pages and chunks of streams.
  [[nodiscard]] Count stranded() const noexcept;
  /// Calls of the memory source, of every kind.
  [[nodiscard]] Count driver_calls() const noexcept;
  /// Microseconds spent in them.
  [[nodiscard]] Count driver_us() const noexcept;
};

/// The clock of `age_s` and of the dates of peaks, and the length of its tick in seconds.
[[nodiscard]] const char* stats_clock_name() noexcept;
[[nodiscard]] double stats_clock_resolution_s() noexcept;

/// One JSON object, every key always present, on one line.
[[nodiscard]] std::string to_json(const PoolStats& stats);
/// Lines for a terminal; the sums that must hold are written as sums.
[[nodiscard]] std::string to_table(const PoolStats& stats);
/// `into` becomes the statistics of both pools together.
void merge(PoolStats& into, const PoolStats& other);
/// Recomputes the derived fields from the others.
void derive(PoolStats& stats);
/// Empty, or the first identity of `PoolStats` that does not hold, with its numbers.
[[nodiscard]] std::string check_identities(const PoolStats& stats);

}  // namespace forebay::pool
