// What must add up in the statistics of a pool.
#include "forebay/pool/stats.hpp"
#include "pool/map_sum.hpp"

namespace forebay::pool {
namespace {

struct Identity {
  const char* text;
  Count left, right;
  bool at_most;
};

std::string first_lie(const std::vector<Identity>& identities) {
  for (const Identity& identity : identities) {
    const bool holds =
        identity.at_most ? identity.left <= identity.right : identity.left == identity.right;
    if (!holds) {
      return std::string(identity.text) + " does not hold: " + std::to_string(identity.left) +
             " and " + std::to_string(identity.right);
    }
  }
  return {};
}

std::string check_map(const PoolStats& stats) {
  if (stats.map.empty() || stats.map_left_out > 0) return {};
  const MapSum span = sum_of_map(stats, "span"), slab = sum_of_map(stats, "slab"),
               buddy = sum_of_map(stats, "buddy"), idle = sum_of_map(stats, "handle");
  return first_lie({
      {"spans of the map <= span mapped", span.bytes, stats.span.mapped, true},
      {"slab pages of the map = slab mapped", slab.bytes, stats.slab.mapped, false},
      {"buddy chunks of the map = buddy mapped", buddy.bytes, stats.buddy.mapped, false},
      {"handles of the map = idle handles", idle.bytes, stats.idle_handles.current, false},
      {"allocated of the map = allocated", span.allocated + slab.allocated + buddy.allocated,
       stats.allocated.current, false},
      {"pending of the map = pending", span.pending + slab.pending + buddy.pending,
       stats.pending.current, false},
      {"ranges of the map are all known", span.ranges + slab.ranges + buddy.ranges + idle.ranges,
       stats.map.size(), false},
  });
}

// A document from before peaks had dates has no age either.
std::string check_dates(const PoolStats& stats) {
  if (stats.age_s == 0) return {};
  std::string lie;
  const auto check = [&](const char* name, const auto& amount) {
    const bool in_time = amount.peak_at_s >= 0 && amount.peak_at_s <= stats.age_s;
    if (!in_time || (amount.peak == 0 && amount.peak_at_s > 0)) {
      lie = std::string(name) + " cannot have had its peak at " + std::to_string(amount.peak_at_s) +
            " s of " + std::to_string(stats.age_s);
    }
  };
  check("requested", stats.requested);
  check("allocated", stats.allocated);
  check("pending", stats.pending);
  check("free", stats.free);
  check("mapped", stats.mapped);
  check("idle_handles", stats.idle_handles);
  check("held", stats.held);
  return lie;
}

}  // namespace

std::string check_identities(const PoolStats& stats) {
  Count stream_allocated = 0;
  Count stream_pending = 0;
  for (const StreamStats& stream : stats.streams) {
    stream_allocated += stream.allocated;
    stream_pending += stream.pending;
  }
  Count by_class = 0;
  Count class_pages = 0;
  for (const SlabClassStats& of : stats.slab.classes) {
    by_class += of.bytes * of.used;
    class_pages += of.pages;
  }
  Count served = 0;
  LadderStats::each_field([&](const char*, Merge, const Tally& tally) { served += tally.count; },
                          stats.ladder);
  const Count in_mapped = stats.allocated.current + stats.pending.current + stats.free.current;
  std::string lie = first_lie({
      {"requested <= allocated", stats.requested.current, stats.allocated.current, true},
      {"allocated + pending + free = mapped", in_mapped, stats.mapped.current, false},
      {"mapped + idle handles = held", stats.mapped.current + stats.idle_handles.current,
       stats.held.current, false},
      {"held <= capacity", stats.held.current, stats.capacity, true},
      {"slab + buddy + span = mapped", stats.slab.mapped + stats.buddy.mapped + stats.span.mapped,
       stats.mapped.current, false},
      {"slab + buddy + span = allocated",
       stats.slab.allocated + stats.buddy.allocated + stats.span.allocated, stats.allocated.current,
       false},
      {"live + frees = total", stats.allocations.live + stats.allocations.frees,
       stats.allocations.total, false},
      {"allocations by rung = total", served, stats.allocations.total, false},
      {"allocated of streams = allocated", stream_allocated, stats.allocated.current, false},
      {"pending of streams = pending", stream_pending, stats.pending.current, false},
      {"free in ranges + stranded + ends of slab pages <= free",
       stats.fragmentation.free_in_ranges + stats.stranded() + stats.slab.tails, stats.free.current,
       true},
      {"the largest free range <= free", stats.fragmentation.largest_free, stats.free.current,
       true},
      {"slab blocks by class = slab allocated", by_class, stats.slab.allocated, false},
      {"slab pages by class = slab pages", class_pages, stats.slab.pages, false},
      {"requested <= its peak", stats.requested.current, stats.requested.peak, true},
      {"allocated <= its peak", stats.allocated.current, stats.allocated.peak, true},
      {"mapped <= its peak", stats.mapped.current, stats.mapped.peak, true},
      {"held <= its peak", stats.held.current, stats.held.peak, true},
      {"peak of held <= capacity", stats.held.peak, stats.capacity, true},
  });
  if (lie.empty()) lie = check_map(stats);
  return lie.empty() ? check_dates(stats) : lie;
}

}  // namespace forebay::pool
