// The inside of a Pool: who locks what, and the parts of an allocation.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "forebay/pool/pool.hpp"
#include "pool/backing.hpp"
#include "pool/block_index.hpp"
#include "pool/block_watch.hpp"
#include "pool/clockwork.hpp"
#include "pool/counted_mutex.hpp"
#include "pool/deferred.hpp"
#include "pool/huge_pages.hpp"
#include "pool/latency.hpp"
#include "pool/postponed.hpp"
#include "pool/size_classes.hpp"
#include "pool/span_block.hpp"
#include "pool/span_engine.hpp"
#include "pool/stream_state.hpp"
#include "pool/trace/recorder.hpp"

namespace forebay::pool {

/// A free that leaves a handle wholly idle asks for a point after so many frees without one.
inline constexpr std::uint32_t kIdlePointEvery = 32;

/// What one allocation wants.
struct Request {
  std::size_t bytes = 0;      // as asked for
  std::size_t span = 0;       // rounded up to kSpanUnit
  std::size_t alignment = 0;  // at least kMinAlignment
  std::size_t margin = 0;     // further bytes behind the block, for debug modes
  const char* tag = nullptr;
  ClassKey key = kSpanClass;  // of the block, which a carrier may serve as well
  bool low = false;           // a carrier: where it disturbs no large blocks, at the lowest address
};

/// Locks, in the order in which they are taken (each may be skipped):
///   growth_mutex_   source calls, and claims whose stamps have to stay valid
///   registry_mutex_ which streams there are
///   time_mutex      of a stream: calls of the timeline (two of them by owner number)
///   mutex           of a stream: its caches, its blocks and its counters (two of them likewise)
///   engine_mutex_   the span engine, the block index, and which spans are blocks
/// But for `close`, source and timeline are never called with a `mutex` or the engine lock held, so
/// nobody's hit path waits for a driver.
class Pool::Impl {
 public:
  Impl(std::shared_ptr<MemorySource> source, std::shared_ptr<Timeline> timeline,
       const PoolConfig& config, LogSink log, std::shared_ptr<MemoryTools> tools);
  ~Impl();

  void* allocate(std::size_t bytes, StreamId stream, const AllocateOptions& options);
  Misuse release(void* pointer, StreamId stream, std::size_t bytes) noexcept;
  void report_misuse(Misuse misuse, const void* pointer, StreamId stream,
                     std::size_t bytes) noexcept;
  Misuse record_use(const void* pointer, StreamId stream) noexcept;
  BlockPieces pieces(const void* pointer);
  ArenaId begin_capture(StreamId stream);
  void end_capture(StreamId stream) noexcept;
  void drop_arena(ArenaId arena) noexcept;
  bool retire_stream(StreamId stream) noexcept;
  std::size_t trim(std::size_t keep);
  void close() noexcept;
  [[nodiscard]] bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }
  std::size_t decay();
  void set_misuse_handler(MisuseHandler handler);
  void add_pressure_callback(PressureCallback callback);
  void set_mapping_callback(MappingCallback callback);
  PoolStats stats();
  [[nodiscard]] Trace trace() const;
  PoolStats detailed_stats(std::size_t map_ranges);
  LeakReport leak_report();
  std::string validate();
  [[nodiscard]] const PoolConfig& config() const noexcept { return config_; }

 private:
  // hit_path.cpp ---------------------------------------------------------------------------------
  struct HitPath;
  void* hit(std::size_t bytes, StreamId stream, const AllocateOptions& options);
  bool give_hit(Address address, StreamId stream, std::size_t bytes);
  void* allocate_anyhow(std::size_t bytes, StreamId stream, const AllocateOptions& options);
  Misuse release_anyhow(void* pointer, StreamId stream, std::size_t bytes) noexcept;

  // pool.cpp -------------------------------------------------------------------------------------
  void* allocate_block(std::size_t bytes, std::size_t margin, StreamId stream,
                       const AllocateOptions& options);

  // spans.cpp ------------------------------------------------------------------------------------
  ExtentId span_at(Address address);
  SpanBlock* lock_span(Address address, StateLock* lock);
  SpanBlock* lock_live_span(Address address, std::size_t bytes, StateLock* lock, Misuse* misuse,
                            bool* again);
  /// The block becomes live. REQUIRES: the stream's mutex.
  void* hand_out(SpanBlock& block, std::size_t bytes, const char* tag, StreamState& state,
                 Rung rung) {
    block.requested = bytes;
    block.tag = tag;
    block.shared = false;
    block.freed.store(false, std::memory_order_relaxed);
    ++state.counters.span_blocks;
    state.counters.span_bytes += block.bytes;
    account_in(state, bytes, block.bytes, rung);
    return reinterpret_cast<void*>(block.address);
  }
  void* allocate_span(const Request& request, StreamState& state, StreamId stream);
  void* settle_span(const Request& request, ExtentId id, StreamState& state, StreamId stream,
                    Rung rung);
  SpanBlock& make_block(ExtentId id, StreamState& state);
  void stock(const Request& request, StreamState& state) noexcept;
  bool trade(const Request& request, StreamState& state);
  bool unpark(StreamState& state);
  bool park_fewer(StreamState& state);
  bool give_back_parked(StreamState& state, unsigned count);
  Misuse release_span(Address address, StreamState& state, StreamId stream, std::size_t bytes,
                      bool* again);
  /// Whether a point should be recorded now; `idle`: the free may have left a handle wholly idle.
  /// REQUIRES: the stream's mutex.
  [[nodiscard, gnu::always_inline]] bool point_due(StreamState& state, bool idle) const noexcept {
    const std::uint32_t every =
        idle ? std::min(kIdlePointEvery, config_.point_every_frees) : config_.point_every_frees;
    return state.uncovered >= std::max<std::uint64_t>(every, state.record_from) &&
           point_pays(state, every);
  }
  [[nodiscard]] bool point_pays(StreamState& state, std::uint32_t every) const noexcept;
  void record_point(StreamState& state) noexcept;
  bool is_scattered(StreamState& state) const;

  // streams.cpp ----------------------------------------------------------------------------------
  /// The state of a stream, opened at first use; null if the timeline does not know the stream.
  /// Cost of a hit: one thread-local load and two compares.
  StreamState* state_of(StreamId stream) {
    const ThreadSlot& slot = thread_slots[serial_ % kThreadSlots];
    return slot.serial == serial_ && slot.stream == stream ? slot.state : find_state(stream);
  }
  StreamState* find_state(StreamId stream);
  StreamState* open_stream(StreamId stream);
  /// Whether `state` still stands for `stream`. REQUIRES: its mutex.
  [[nodiscard]] static bool serves(const StreamState& state, StreamId stream) noexcept {
    return state.open && !state.retiring && state.stream == stream;
  }
  void forget_thread_slot();
  StreamState& new_state(StreamId stream, bool arena);
  /// Everything with something pending. A snapshot.
  std::vector<StreamState*> open_states() const;
  /// The open state with the next higher owner number; null if there is none.
  [[nodiscard]] StreamState* next_open(Owner after) const noexcept;
  [[nodiscard]] StreamState* state_by_owner(Owner owner) const;
  /// False if the stream's last point could not be recorded; nothing has changed then.
  bool retire(StreamId stream);
  void close_retired();
  void account_foreign(StreamState& state, StreamState& user, std::size_t requested,
                       std::size_t allocated);
  void fold(StreamState& state) noexcept;
  void fold_locked(StreamState& state) noexcept;
  void date_peaks(StreamState& state) noexcept;
  /// A block comes, a block goes. REQUIRES: the stream's mutex.
  [[gnu::always_inline]] void account_in(StreamState& state, std::size_t requested,
                                         std::size_t allocated, Rung rung) {
    StreamCounters& counters = state.counters;
    counters.requested_in += requested;
    counters.allocated_in += allocated;
    ++counters.allocations;
    ++counters.served[static_cast<std::size_t>(rung)];
    state.requested.add(static_cast<std::int64_t>(requested));
    state.allocated.add(static_cast<std::int64_t>(allocated));
    // One branch for all of it; most blocks raise no peak.
    if (static_cast<int>(state.allocated.now > fold_quantum_) | state.allocated.is_due() |
        state.requested.is_due()) [[unlikely]] {
      date_peaks(state);
    }
  }
  [[gnu::always_inline]] void account_out(StreamState& state, std::size_t requested,
                                          std::size_t allocated) {
    StreamCounters& counters = state.counters;
    counters.requested_out += requested;
    counters.allocated_out += allocated;
    ++counters.frees;
    state.requested.drop(static_cast<std::int64_t>(requested));
    state.allocated.drop(static_cast<std::int64_t>(allocated));
    if (state.allocated.now < -fold_quantum_) [[unlikely]] {
      fold_locked(state);
    }
  }

  // arenas.cpp -----------------------------------------------------------------------------------
  /// An arena of a stream, which is nobody's from here on; null if there is none.
  StreamState* take_arena(StreamId stream);
  void close_arena(StreamState& arena, StreamState& state, const Point* recorded);

  // ladder.cpp -----------------------------------------------------------------------------------
  /// Some rungs of the ladder.
  class RungSet {
   public:
    RungSet() = default;
    explicit RungSet(const Ladder& ladder) noexcept {
      for (const LadderRung rung : ladder) add(rung);
    }
    void add(LadderRung rung) noexcept { bits_ |= 1u << static_cast<unsigned>(rung); }
    [[nodiscard]] bool has(LadderRung rung) const noexcept {
      return (bits_ >> static_cast<unsigned>(rung) & 1) != 0;
    }

   private:
    unsigned bits_ = 0;
  };
  /// Climbs the ladder: times each rung and remembers which were tried.
  class Climb;
  /// A used extent of `request.span` bytes for the stream, whose search found none; kNoExtent if a
  /// carrier of the stream has room by now, or a fitting span is parked. Throws OutOfMemory. No
  /// lock is held.
  ExtentId obtain(const Request& request, StreamState& state, Rung* rung);
  ExtentId search(const Request& request, StreamState& state);
  ExtentId find_and_take(const Request& request, StreamState& state);
  ExtentId steal(const Request& request, StreamState& state);
  ExtentId claim_from_others(const Request& request, const StreamState& state,
                             const std::vector<Owner>& without, std::vector<Piece>& pieces,
                             std::vector<Stamp>& stamps);
  ExtentId retry(const Request& request, StreamState& state, RungSet before);
  class Ascent;
  bool poll_everybody();
  bool awaits_points(const StreamState& state) const;
  void complete(StreamState& state);
  bool wait_for_oldest();
  bool drop_all_spares(const StreamState& state);
  bool has_room(ClassKey key, StreamState& state);
  bool relieve(std::size_t bytes);

  // growth.cpp -----------------------------------------------------------------------------------
  /// Where new memory comes from: handles that are new; those that are idle elsewhere and as many
  /// new ones as are missing then; the other way round.
  enum class Growth : std::uint8_t { map, move, fill };
  [[nodiscard]] bool moves_first() const noexcept;
  ExtentId grow(const Request& request, StreamState& state, Growth how, std::size_t limit,
                Rung* rung);
  ExtentId grow_at_place(const Request& request, StreamState& state, Growth how, std::size_t cell,
                         Rung* rung);
  struct Idle {
    Mapping mapping;
    ExtentId extent;
  };
  std::vector<Idle> claim_idle(std::size_t bytes);
  bool unmap_idle(const std::vector<Idle>& idle);
  void strand(ExtentId part, std::vector<Backing::Made>& made);
  ExtentId grow_by_region(const Request& request, StreamState& state);
  ExtentId replace_regions(const Request& request, StreamState& state);
  void give_back(std::size_t keep);
  bool give_back_handles(std::size_t keep, std::size_t most);
  std::size_t give_back_region();
  void retry_stuck();

  // small.cpp ------------------------------------------------------------------------------------
  StateLock lock_owner(const Carrier& carrier, StreamState** owner);
  void* take_small(ClassKey key, const Request& request, StreamState& state, StreamId stream,
                   Rung rung);
  void* allocate_small(ClassKey key, const Request& request, StreamState& state, StreamId stream);
  bool open_carrier(ClassKey key, ExtentId id, StreamState& state, StreamId stream);
  Carrier* unused_carrier(ClassKey key);
  void set_up(Carrier& carrier, ClassKey key, ExtentId id, StreamState& state);
  bool close_carrier(Carrier* carrier, StreamState& owner);
  bool adopt(ClassKey key, StreamState& state, Rung* rung);
  Misuse find_small(Carrier& carrier, const StreamState* owner, Address address, std::size_t bytes,
                    Carrier::Place* place, bool* again) const;
  Misuse release_small(Carrier* carrier, Address address, StreamState& state, StreamId stream,
                       std::size_t bytes, bool* again);
  void send_home(const SmallCache::Block& block);
  bool drop_spares(StreamState& state);
  bool unpark_small(StreamState& state);

  // passthrough.cpp ------------------------------------------------------------------------------
  /// A block that is a region of the source. Freed ones stay until the source has them back.
  struct Alone {
    Mapping region;
    StreamState* user = nullptr;
    const char* tag = nullptr;
    std::size_t requested = 0;
    bool live = false;
    bool shared = false;
  };
  using AloneBlocks = std::map<Address, Alone>;
  /// A region for a block, and what it takes to give it back later, should the source refuse that.
  struct Room {
    AloneBlocks::node_type block;
    DeferredFrees::Blocks back;
  };
  bool take_region(std::size_t bytes, std::size_t alignment, Room* room);
  void* settle_alone(const Request& request, Room room, Address address, StreamState& state,
                     StreamId stream, Rung rung);
  void* allocate_alone(const Request& request, StreamState& state, StreamId stream);
  Misuse release_alone(Address address, StreamState& state, StreamId stream, std::size_t bytes,
                       bool* again);
  bool free_alone(Address address);

  // release.cpp ----------------------------------------------------------------------------------
  /// What waited for several streams and waits no longer becomes free.
  bool release_deferred(bool regions);
  /// The block waits for its uses and for the stream that freed it.
  void defer(DeferredFrees::Blocks one) noexcept;
  /// Of a range that a stream or an arena has, used so far, and gives up now. REQUIRES: its mutex
  /// and the engine lock.
  Stamp stamp_of_free(StreamState& state) noexcept;
  DeferredFrees::Blocks take_uses(Address address, bool shared, StreamState& home);
  /// A used extent becomes free; whether that left a mapping wholly idle. REQUIRES: the engine
  /// lock.
  bool free_range(ExtentId id, Stamp stamp);
  Misuse counted(Misuse misuse) noexcept;
  /// `release_live`, recorded.
  Misuse release_recorded(void* pointer, StreamId stream, std::size_t bytes);
  Misuse release_block(void* pointer, StreamId stream, std::size_t bytes);
  Misuse release_live(void* pointer, StreamId stream, std::size_t bytes);
  Misuse record_live_use(const void* pointer, StreamId stream);
  void tell_misuse(Misuse misuse, const void* pointer, StreamId stream, std::size_t bytes);
  /// What a pointer is that is no live block. REQUIRES: the engine lock.
  [[nodiscard]] Misuse classify(Address address) const;

  // postponed.cpp --------------------------------------------------------------------------------
  std::optional<Misuse> try_release(const PostponedFrees::Free& free) noexcept;
  Misuse release_or_postpone(const PostponedFrees::Free& free) noexcept;
  bool make_up(const StreamId* of) noexcept;

  // watched.cpp ----------------------------------------------------------------------------------
  // With debug modes or call stacks on, everything goes through these.
  void* allocate_noted(std::size_t bytes, StreamId stream, const AllocateOptions& options);
  void* allocate_watched(std::size_t bytes, StreamId stream, const AllocateOptions& options,
                         void** made);
  void* allocate_guarded(std::size_t bytes, StreamId stream, const AllocateOptions& options,
                         void** made);
  Misuse release_watched(void* pointer, StreamId stream, std::size_t bytes);
  [[nodiscard]] bool is_alone(Address address) const;
  Misuse release_guarded(Address address, StreamId stream, std::size_t bytes);
  /// Frees blocks in quarantine until at most `keep` bytes are there; with `of` only those that
  /// were freed on that stream. Not complete: the host has no memory for that.
  struct Discharge {
    bool any = false, complete = false;
  };
  Discharge discharge(std::size_t keep, const StreamId* of = nullptr);
  LeakReport leaks_now();

  // memory_map.cpp -------------------------------------------------------------------------------
  struct MapNotes;
  void note_streams(MapNotes& notes);
  MapRange describe(ExtentId id, const SpanEngine::Extent& extent, const MapNotes& notes);
  void add_map(PoolStats& stats, std::size_t most, const MapNotes& notes);
  Histogram granule_occupancy();

  // report.cpp -----------------------------------------------------------------------------------
  [[noreturn]] void throw_out_of_memory(const Request& request, StreamState& state,
                                        const std::string& rungs);
  std::string what_would_help(const Request& request, const PoolStats& now, std::size_t device_free,
                              std::uint64_t reusable);
  struct Holder {
    const char* tag;
    std::uint64_t blocks, bytes;
  };
  /// Live blocks by tag, the most bytes first. Cost: every block.
  std::vector<Holder> holders();
  /// What is to be said at the end, as far as there is host memory for it.
  struct LastWords {
    std::vector<std::string> lines;
    bool lost = false;
    template <typename Add>
    void say(Add&& add) noexcept {
      try {
        add(lines);
      } catch (const std::bad_alloc&) {
        lost = true;
      }
    }
  };
  void give_everything_back(LastWords& words) noexcept;
  std::string backing_failure();
  void log(std::string_view line) const noexcept;

  std::uint64_t deferred_span_bytes() const;
  void sample_levels();  // REQUIRES: the engine lock
  /// The pool's age in seconds at a time of the coarse clock; 0 for 0, which is no time.
  [[nodiscard]] double age_s(std::int64_t at) const noexcept;

  const std::shared_ptr<MemorySource> source_owner_;
  const std::shared_ptr<Timeline> timeline_;
  PoolConfig config_;
  const LogSink log_;
  const std::int64_t born_ = CoarseClock::now();
  const std::uint64_t serial_;  // of this pool among all of the process
  SourceTraits traits_;
  MeteredSource source_;
  const std::unique_ptr<TraceRecorder> recorder_;  // null unless the configuration asks
  SizeRouter router_;
  Clockwork clockwork_;
  Backing backing_;
  const std::unique_ptr<BlockWatch> watch_;  // null unless debug modes or call stacks are on
  const bool plain_;     // pooled, and nothing looks on: the hit path may be taken
  const RungSet rungs_;  // that the configuration has
  /// A stream folds its counters into the pool's when they have moved so far.
  const std::int64_t fold_quantum_;
  std::atomic<bool> closed_{false};

  CountedMutex growth_mutex_;
  std::vector<std::pair<Mapping, ExtentId>> stuck_;  // growth_mutex_; mapped, without access
  Address range_ = 0;                                // the reserved addresses, 0 if there are none
  std::size_t range_bytes_ = 0;
  LeakReport last_leaks_;  // growth_mutex_; what was live at close

  mutable std::shared_mutex registry_mutex_;
  std::unordered_map<StreamId, StreamState*> streams_;  // registry_mutex_
  std::vector<std::unique_ptr<StreamState>> states_;    // registry_mutex_; [owner]; [0] is nobody
  std::unordered_map<ArenaId, StreamState*> arenas_;    // registry_mutex_
  ArenaId last_arena_ = 0;                              // registry_mutex_
  Point point_floor_ = 1;           // registry_mutex_; above every point of closed streams
  StreamCounters closed_counters_;  // registry_mutex_; of closed streams

  mutable CountedMutex engine_mutex_;
  SpanEngine engine_;       // engine_mutex_
  BlockIndex index_;        // engine_mutex_ but for look-ups
  SpanBlocks blocks_;       // engine_mutex_ but for look-ups
  Address high_water_ = 0;  // engine_mutex_; end of what was ever mapped
  // engine_mutex_; streams that use a live block beside the one that will free it.
  std::unordered_map<Address, DeferredFrees::Blocks> uses_;
  DeferredFrees deferred_;  // engine_mutex_
  PostponedFrees postponed_;
  std::recursive_mutex discharge_mutex_;  // before all others; a misuse handler may free
  AloneBlocks alone_;                     // engine_mutex_
  std::uint64_t deferred_bytes_ = 0;      // engine_mutex_

  HugePages records_;                              // engine_mutex_; of carriers
  std::pmr::deque<SlabPage> pages_{&records_};     // engine_mutex_; every one ever made
  std::pmr::deque<BuddyChunk> chunks_{&records_};  // engine_mutex_; likewise
  struct UnusedCarriers {
    std::vector<Carrier*> records;
    std::size_t made = 0;
  };
  std::array<UnusedCarriers, kRooms> unused_carriers_;  // engine_mutex_; by carrier_room

  FoldedGauge requested_, allocated_;
  FoldedSum small_pending_;  // in the caches of streams
  Gauge pending_, free_;     // engine_mutex_
  std::array<std::atomic<std::uint64_t>, kRungs> rung_ns_{};
  std::array<std::atomic<std::uint64_t>, kMisuses> misuses_{};
  std::atomic<std::uint64_t> host_waits_{0}, failed_{0};
  std::atomic<std::uint64_t> searches_{0};  // for memory that no stream's caches had
  LatencyHistogram allocate_latency_, release_latency_, miss_latency_;

  // engine_mutex_; bytes of used ranges at most since `decay` was called, and in the interval
  // before.
  std::uint64_t needed_ = 0, needed_before_ = 0;
  std::uint64_t leaving_ = 0;  // engine_mutex_; bytes of used ranges that are on their way out

  mutable std::mutex handler_mutex_;
  MisuseHandler handler_;                             // handler_mutex_
  std::vector<PressureCallback> pressure_callbacks_;  // handler_mutex_
};

class Pool::Impl::Climb {
 public:
  explicit Climb(Impl& pool) : pool_(pool) {}
  ~Climb() { pool_.miss_latency_.add(since(begin_)); }
  Climb(const Climb&) = delete;
  Climb& operator=(const Climb&) = delete;
  /// Runs one rung; whether it found something.
  template <typename Action>
  bool rung(Rung step, Action&& action) {
    const auto begin = Clock::now();
    tried_ |= 1u << static_cast<unsigned>(step);
    const bool found = std::forward<Action>(action)();
    pool_.rung_ns_[static_cast<std::size_t>(step)].fetch_add(since(begin),
                                                             std::memory_order_relaxed);
    return found;
  }
  /// The rungs tried, by name.
  [[nodiscard]] std::string tried() const;

 private:
  using Clock = std::chrono::steady_clock;
  static std::uint64_t since(Clock::time_point begin) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count());
  }

  Impl& pool_;
  const Clock::time_point begin_ = Clock::now();
  std::uint32_t tried_ = 1;  // the cache always is
};

}  // namespace forebay::pool
