// The pool: stream-ordered allocation on top of a MemorySource and a Timeline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/pool/error.hpp"
#include "forebay/pool/ladder.hpp"
#include "forebay/pool/leaks.hpp"
#include "forebay/pool/memory_source.hpp"
#include "forebay/pool/memory_tools.hpp"
#include "forebay/pool/stats.hpp"
#include "forebay/pool/timeline.hpp"
#include "forebay/pool/trace.hpp"

namespace forebay::pool {

/// The smallest alignment of a block and the unit in which spans are cut, in bytes.
inline constexpr std::size_t kMinAlignment = 256;
inline constexpr std::size_t kSpanUnit = 512;

/// What a caller did wrong with memory when it gave it back, or later, or what else kept a call
/// from its work.
enum class Misuse : std::uint8_t {
  none,
  double_free,       ///< the block is free already
  interior_pointer,  ///< inside a live block, not at its start
  foreign_pointer,   ///< no block of this pool
  size_mismatch,     ///< `bytes` differs from what was requested
  wrong_device,      ///< the stream is not one of this pool's device
  pool_closed,       ///< the pool's runtime was closed
  buffer_overrun,    ///< something wrote behind the block's end; the block is freed all the same
  use_after_free,    ///< something wrote to a block in quarantine; told when the block leaves it
  no_host_memory,    ///< nobody's mistake: nothing has changed, and the call may be made again
};
inline constexpr std::size_t kMisuses = 10;
[[nodiscard]] std::string_view to_string(Misuse misuse) noexcept;

/// What happens on misuse, after it was counted.
enum class MisusePolicy : std::uint8_t { log, abort };

/// Pooled, or each allocation a driver allocation of its own, so that a memory checker sees bounds.
enum class PoolMode : std::uint8_t { pooled, passthrough };

/// What a pool is made of: handles that are mapped where they are needed, or whole regions.
enum class PoolBacking : std::uint8_t { vmm, malloc };

/// Which other devices get access: none, those that can reach the memory, or all there are.
enum class PoolPeers : std::uint8_t { none, reachable, all };

/// What another process can be given of the memory: nothing, or file descriptors of its handles.
enum class PoolExport : std::uint8_t { none, fd };

/// The most spans that a stream may park.
inline constexpr std::uint32_t kMostParkedSpans = 32;

/// Everything that tunes a pool; the configuration keys `pool.*` set it.
struct PoolConfig {
  std::size_t capacity = 0;  ///< bytes the pool may hold; 0: all of the source's memory
  /// Bytes above which a pool takes from other streams and moves idle memory before it adds any;
  /// 0: the capacity.
  std::size_t soft_limit = 0;
  std::size_t headroom = 0;       ///< bytes of the device's memory that stay free for others
  std::size_t address_range = 0;  ///< bytes of addresses to reserve; 0: eight times the capacity
  std::size_t handle_size = 0;    ///< bytes of a new handle; 0: by handle_count
  /// The capacity over handle_count, rounded down to a power of two, at least a granule and at most
  /// handle_max bytes, is the size of a handle.
  std::uint32_t handle_count = 1024;
  std::size_t handle_max = std::size_t{64} << 20;
  /// A pool that holds less than a quarter of its capacity moves idle memory to where it is needed,
  /// instead of holding more, while more than this share of what it holds is free.
  double idle_share = 0.15;
  /// Each growth adds this share of what is held, or of 1/64 of the capacity if that is more,
  /// beyond its need.
  double growth_step = 0.03;
  std::size_t slab_max_block = std::size_t{64} << 10;    ///< blocks up to this come from slabs
  std::size_t buddy_max_block = std::size_t{256} << 10;  ///< … up to this from buddies; 0: none
  /// Large blocks that a stream keeps when it frees them, for its next allocations of the same
  /// size; at most kMostParkedSpans.
  std::uint32_t parked_spans = kMostParkedSpans;
  /// A point is recorded after so many frees of a stream; they become up to 256 times rarer while
  /// every allocation of the pool is served by its stream's own cache, which needs none.
  std::uint32_t point_every_frees = 64;
  std::uint32_t wait_limit_ms = 10'000;  ///< after so long no further wait for pending frees begins
  std::uint32_t latency_sample = 64;     ///< one operation in so many is timed; 0: none
  Ladder ladder = default_ladder();      ///< what is tried, in this order, when no search helps
  std::size_t trace_ring_bytes = 0;  ///< of the ring that records what the pool is asked; 0: none
  PoolMode mode = PoolMode::pooled;
  PoolBacking backing = PoolBacking::vmm;  ///< malloc where the source has no virtual memory
  // What the source was made with; the pool itself does nothing with these two.
  PoolPeers peers = PoolPeers::none;
  PoolExport export_as = PoolExport::none;
  MisusePolicy on_misuse = MisusePolicy::log;

  StackMode leak_stacks = StackMode::off;                  ///< whose call stacks are kept
  std::size_t leak_sample_bytes = std::size_t{512} << 10;  ///< mean bytes between sampled ones

  // Debug modes. All of them and the stacks together cost one test while they are off.
  bool debug_fill = false;               ///< fill blocks when they are allocated and when freed
  std::size_t debug_canary = 0;          ///< bytes behind each block that are checked at its free
  std::uint32_t debug_guard_sample = 0;  ///< one block in so many ends at unmapped memory; 0: none
  std::size_t debug_quarantine = 0;      ///< bytes of freed blocks kept from being used again
};

/// Options of one allocation.
struct AllocateOptions {
  std::size_t alignment = kMinAlignment;  ///< a power of two
  const char* tag = nullptr;              ///< static storage; null: the thread's AllocationScope
};

/// The memory of one captured graph; no id comes twice, and none is 0.
using ArenaId = std::uint64_t;

/// Where a block lies in physical memory.
struct BlockPieces {
  struct Piece {
    Handle handle = 0;
    std::size_t bytes = 0;
  };
  std::size_t bytes = 0;      ///< of the block, as requested
  std::size_t offset = 0;     ///< of the block in the first piece
  std::vector<Piece> pieces;  ///< whole handles, in the order in which the block covers them
};

/// How a pool says something: one line, already formatted. Called without any lock held.
using LogSink = std::function<void(std::string_view line)>;
/// Called on misuse instead of logging, with the pointer and a line about it.
using MisuseHandler =
    std::function<void(Misuse misuse, const void* pointer, std::string_view line)>;

/// Asked to give back memory when a request of `bytes` would otherwise have to wait or fail: frees
/// blocks, or memory outside of the pool, and returns how many bytes that were, 0 if none. Called
/// on the allocating thread without any lock held; it may free to the pool. What it allocates from
/// it is served without asking callbacks again. What it throws reaches the caller of `allocate`.
/// A tensor may be what allocates, in the middle of a launch: of tensors of that device, the
/// callback may let go, but to compute one throws Error. Nor may it wait for a thread that uses
/// some.
using PressureCallback = std::function<std::size_t(std::size_t bytes)>;
/// Told that memory was mapped at [address, address + bytes), with access, or is about to be
/// unmapped there, so that registrations with other drivers can follow. It must not call the pool.
/// What it throws is logged, and otherwise ignored.
using MappingCallback = std::function<void(Address address, std::size_t bytes, bool mapped)>;

/// A cheap handle on a pool; copies mean the same pool, which lives until the last is gone.
///
/// Memory freed on a stream is at once reusable on that stream, and elsewhere after a dependency on
/// every stream that used it. Thread safety: every call may be made from any thread.
class Pool {
 public:
  Pool() = default;
  /// `source`, `timeline` and `tools` outlive `close()`; `tools` may be null as long as no debug
  /// mode needs them. Throws ConfigError for a configuration that the source cannot serve and
  /// DriverError when no addresses can be reserved.
  Pool(std::shared_ptr<MemorySource> source, std::shared_ptr<Timeline> timeline,
       const PoolConfig& config, LogSink log = {}, std::shared_ptr<MemoryTools> tools = nullptr);

  /// At least `bytes` bytes for work on `stream`; null for 0, whatever else is asked. Throws
  /// OutOfMemory, ClosedError, Error for an alignment that is no power of two or a stream that is
  /// not the device's, and std::bad_alloc where the host has no memory; nothing has changed then.
  [[nodiscard]] void* allocate(std::size_t bytes, StreamId stream,
                               const AllocateOptions& options = {});
  /// Gives a block back once the work that `stream` was given so far is done with it. Work of other
  /// streams, of the one that it was allocated on too, counts only where `record_use` told of it or
  /// `stream` waits for it. That holds for a block without any use as well: its own stream may
  /// still have work from before the allocation that uses the memory, so another one that frees it
  /// has to be ordered after the allocation. `bytes` is what was requested, 0 if unknown. Null does
  /// nothing; misuse goes to the misuse handler. A free that finds no host memory for its books is
  /// made up for by a later call, up to 256 of them; further ones are `no_host_memory`.
  void deallocate(void* pointer, StreamId stream, std::size_t bytes = 0) noexcept;
  /// The same, but misuse is only counted and returned.
  Misuse try_deallocate(void* pointer, StreamId stream, std::size_t bytes = 0) noexcept;
  /// `stream` uses the block too: nobody gets it before that use is done. Call it after the work
  /// was given to `stream` and before the block is freed. `no_host_memory`: the use is not known.
  Misuse record_use(const void* pointer, StreamId stream) noexcept;

  /// The handles in which the block that begins at `pointer` lies. A live block never moves, so the
  /// answer holds until it is freed; from then on its handles may move, be given to other blocks or
  /// be released. Throws Error if no block begins there or the pool is made of regions,
  /// ClosedError.
  [[nodiscard]] BlockPieces pieces(const void* pointer) const;

  /// From now on, until `end_capture`, `stream` allocates from a new arena, whose addresses stay
  /// until `drop_arena`: nobody else gets them, and nothing there is moved or given back. What
  /// its own stream frees of it meanwhile is reused by the same capture; what another stream frees
  /// or uses (`record_use`) is not before the arena's end. Nor is any point of the stream recorded
  /// or asked about meanwhile, so blocks from before the capture that are freed during it are
  /// nobody's until it ends. To be called before the driver begins to capture. Throws Error if the
  /// stream has an arena now or is not the device's, ClosedError.
  [[nodiscard]] ArenaId begin_capture(StreamId stream);
  /// `stream` allocates as usual again; the arena stays. Nothing if there is none.
  void end_capture(StreamId stream) noexcept;
  /// No graph uses the arena any more. What is free of it is everyone's once the work that its
  /// stream was given so far is done; blocks that live stay what they are, and are freed as any
  /// other. Nothing for an arena that is gone, by this or with its stream.
  void drop_arena(ArenaId arena) noexcept;

  /// The stream will not be used any more; what it holds becomes everyone's. False if its last
  /// point could not be recorded (the stream is capturing or the driver failed) or the host has no
  /// memory for frees that wait for some: the stream must live on then. REQUIRES: the stream still
  /// exists, and no other thread uses it.
  bool retire_stream(StreamId stream) noexcept;
  /// Waits for every pending free and gives memory back to the source until at most `keep` bytes
  /// are held. Returns the bytes given back.
  std::size_t trim(std::size_t keep = 0);
  /// Frees everything, live blocks included, and reports those. Later calls are misuse. Twice is
  /// fine. REQUIRES: no work that uses the pool's memory is in flight.
  void close() noexcept;
  [[nodiscard]] bool closed() const noexcept;

  /// Gives back what was not needed lately: all beyond the most that was allocated at once since
  /// the call before the last one. Waits for nothing. Returns the bytes given back. Call it at
  /// intervals.
  std::size_t decay();

  void set_misuse_handler(MisuseHandler handler);
  /// Adds one; they are asked in the order in which they came, until one gives something back.
  /// Throws Error for an empty one.
  void add_pressure_callback(PressureCallback callback);
  /// Sets the only one; it is told at once of all that is mapped now.
  void set_mapping_callback(MappingCallback callback);

  /// A consistent copy of the counters. Cost: some microseconds, and what the streams come to: each
  /// one's lock is held for copying some hundred numbers, whatever lives there. Only
  /// `fragmentation.largest_free` looks at ranges: those that are at most 1/16 smaller.
  [[nodiscard]] PoolStats stats() const;
  /// The same with fragmentation.granule_occupancy and, in `map`, as many as `map_ranges` ranges of
  /// the pool's memory. Cost: a walk over all spans under the lock of the span engine, with a map
  /// also one over all slab pages and buddy chunks.
  [[nodiscard]] PoolStats detailed_stats(std::size_t map_ranges = 0) const;
  /// What is live, by tag and place of allocation; after `close()` what was live then. Cost: a scan
  /// of every block, and some milliseconds to name functions where call stacks are kept.
  [[nodiscard]] LeakReport leak_report() const;
  /// Recomputes everything from first principles; empty, or the first lie found. Cost: everything.
  /// REQUIRES: no other thread uses the pool meanwhile, or what is under way looks like a lie.
  [[nodiscard]] std::string validate() const;
  /// What the pool was asked: as many of the last events as the ring holds, with the blocks that
  /// were live before them as a prologue. Works after `close()` too. Throws Error when nothing is
  /// recorded (`trace_ring_bytes`) and TraceError when nothing happened yet. Cost: the ring and the
  /// live blocks; allocations wait meanwhile.
  [[nodiscard]] Trace trace() const;
  /// Writes that as a forebay.trace, whole or not at all. Throws as `trace`, and Error when the
  /// file cannot be written.
  void write_trace(const std::string& file) const;
  /// The configuration with its zeros resolved.
  [[nodiscard]] PoolConfig config() const;

  [[nodiscard]] explicit operator bool() const noexcept { return impl_ != nullptr; }

  class Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

/// Tags what this thread allocates while the scope lives; scopes nest. `tag` has static storage.
class AllocationScope {
 public:
  explicit AllocationScope(const char* tag) noexcept;
  ~AllocationScope();
  AllocationScope(const AllocationScope&) = delete;
  AllocationScope& operator=(const AllocationScope&) = delete;
  /// The innermost tag of this thread, null outside of any scope.
  [[nodiscard]] static const char* current() noexcept;

 private:
  const char* outer_;
};

}  // namespace forebay::pool
