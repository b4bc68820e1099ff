// Blocks that were freed and wait for several streams.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <list>
#include <map>
#include <utility>
#include <vector>

#include "pool/small_cache.hpp"
#include "pool/stream_state.hpp"

namespace forebay::pool {

/// A stream that uses a block, and the point that its use has passed with; kNever: what the state,
/// an arena, has is its own until it ends, and then it waits with the rest for the arena's heir.
struct Use {
  StreamState* state = nullptr;
  StreamId stream = 0;
  Point point = 0;
};

/// Uses that a free adds to those that were noted: its own stream, and an arena.
inline constexpr std::size_t kFurtherUses = 2;

/// A block that was freed and waits for several streams.
struct Deferred;
using DeferredList = std::list<Deferred>;
/// Of the blocks that wait for one stream, by point.
using DeferredQueue = std::multimap<Point, DeferredList::iterator>;

struct Deferred {
  ExtentId id = kNoExtent;  // of a span
  SmallCache::Block small;  // … or in a carrier
  Address alone = 0;        // … or a region of its own
  std::size_t bytes = 0;
  StreamState* freed_on = nullptr;  // and `user`: null for a region that never became a block
  StreamState* user = nullptr;
  std::vector<Use> uses;
  DeferredQueue::node_type place;  // while it stands in no queue
};

/// Each block stands in the queue of one stream that it waits for, by its point, and goes on to the
/// next one's when that has passed. So nobody looks at blocks that wait for others, and the work
/// for a block is the number of its streams, however many wait. All host memory that a block needs
/// here is made with it, so that a free never lacks any.
///
/// Thread safety: none; the engine lock guards it.
class DeferredFrees {
 public:
  using Blocks = DeferredList;

  /// A block to be added, with room for so many uses. Throws std::bad_alloc.
  [[nodiscard]] static Blocks make(std::size_t uses) {
    Blocks one(1);
    one.front().uses.reserve(uses);
    Queue queue;
    queue.emplace(0, one.begin());
    one.front().place = queue.extract(queue.begin());
    return one;
  }
  /// Room for the queue of a stream. Throws std::bad_alloc.
  void open_owner(Owner owner) {
    if (owner >= queues_.size()) queues_.resize(owner + std::size_t{1});
  }
  /// One block that was made so.
  void add(Blocks one) noexcept {
    // The end of an arena stands last, and is waited for first.
    std::vector<Use>& uses = one.front().uses;
    std::partition(uses.begin(), uses.end(), [](const Use& use) { return use.point != kNever; });
    queue(one);
  }
  /// The points of a stream up to `passed` have passed.
  void complete(const StreamState& state, Point passed) noexcept {
    if (state.owner >= queues_.size()) return;
    Queue& waiting = queues_[state.owner];
    while (!waiting.empty() && waiting.begin()->first <= passed) go_on(waiting);
  }
  /// An arena has ended, and has an heir: what waited for that waits for the heir's point now.
  void pass_on(const StreamState& arena) noexcept {
    if (arena.owner >= queues_.size()) return;
    Queue& waiting = queues_[arena.owner];
    while (!waiting.empty()) go_on(waiting);
  }
  /// Those that wait for nothing more: regions of their own, or all others. They are the caller's
  /// from now on.
  [[nodiscard]] Blocks take_ready(bool regions) noexcept {
    Blocks ready;
    ready.swap(ready_[regions ? 1 : 0]);
    return ready;
  }
  /// Some of those regions could not be released.
  void put_back(Blocks& regions) noexcept { ready_[1].splice(ready_[1].end(), regions); }
  [[nodiscard]] bool any_ready(bool regions) const noexcept {
    return !ready_[regions ? 1 : 0].empty();
  }

  template <typename Visit>
  void each(Visit&& visit) const {
    for (const Deferred& block : waiting_) visit(block);
    for (const Blocks& ready : ready_) {
      for (const Deferred& block : ready) visit(block);
    }
  }
  [[nodiscard]] std::size_t metadata_bytes() const noexcept {
    constexpr std::size_t kNodes = 2 * 4 * sizeof(void*);
    return (waiting_.size() + ready_[0].size() + ready_[1].size()) *
           (sizeof(Deferred) + 2 * sizeof(Use) + kNodes);
  }
  void clear() noexcept {
    queues_.clear();
    waiting_.clear();
    for (Blocks& ready : ready_) ready.clear();
  }

 private:
  using Queue = DeferredQueue;

  [[nodiscard]] static bool is_over(Use& use) noexcept {
    if (use.point == kNever) {
      const StreamState& arena = *use.state;
      if (arena.keeps.load(std::memory_order_relaxed)) return false;
      use = {arena.heir, arena.heir->stream, arena.heir_point};
    }
    // Points of a record only go up, whatever streams it has stood for meanwhile.
    return use.state->passed.load(std::memory_order_acquire) >= use.point;
  }
  // The one block of `one` goes to the queue of its next use, or is ready.
  void queue(Blocks& one) noexcept {
    std::vector<Use>& uses = one.front().uses;
    while (!uses.empty() && is_over(uses.back())) uses.pop_back();
    if (uses.empty()) {
      Blocks& ready = ready_[one.front().alone != 0 ? 1 : 0];
      ready.splice(ready.end(), one);
      return;
    }
    Deferred& block = one.front();
    block.place.key() = uses.back().point;
    block.place.mapped() = one.begin();
    queues_[uses.back().state->owner].insert(std::move(block.place));
    waiting_.splice(waiting_.end(), one);
  }
  // The first of a queue, whose use there is over or has become another one.
  void go_on(Queue& waiting) noexcept {
    const Blocks::iterator block = waiting.begin()->second;
    block->place = waiting.extract(waiting.begin());
    Blocks one;
    one.splice(one.begin(), waiting_, block);
    queue(one);
  }

  Blocks waiting_;
  std::array<Blocks, 2> ready_;  // [1]: regions
  std::deque<Queue> queues_;     // by owner
};

}  // namespace forebay::pool
