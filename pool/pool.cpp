#include "forebay/pool/pool.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <new>
#include <utility>

#include "pool/guard_source.hpp"
#include "pool/pool_impl.hpp"
#include "pool/units.hpp"

namespace forebay::pool {
namespace {

std::uint64_t next_serial() {
  static std::atomic<std::uint64_t> serial{0};
  return serial.fetch_add(1, std::memory_order_relaxed) + 1;
}

constexpr std::size_t kMostRingBytes = std::size_t{64} << 30;

void require(bool holds, const char* pointer, const std::string& allowed) {
  if (!holds) throw ConfigError(std::string("/pool/") + pointer + ": " + allowed);
}

// Checks a configuration against its source and resolves its zeros.
PoolConfig resolve(PoolConfig config, const SourceTraits& traits) {
  const std::size_t granularity = traits.granularity;
  require(is_power_of_two(granularity) && granularity >= kSpanUnit, "capacity",
          "the source's granularity of " + std::to_string(granularity) +
              " bytes is no power of two of at least 512");
  if (config.capacity == 0) config.capacity = traits.total;
  require(config.capacity >= granularity, "capacity",
          std::to_string(config.capacity) + " bytes are less than the " +
              std::to_string(granularity) + " bytes that the source hands out at once");
  if (config.soft_limit == 0) config.soft_limit = config.capacity;
  require(config.soft_limit <= config.capacity, "soft_limit",
          "must be at most the capacity of " + std::to_string(config.capacity) + " bytes");
  if (!traits.virtual_memory) config.backing = PoolBacking::malloc;
  require(config.export_as == PoolExport::none ||
              (config.backing == PoolBacking::vmm && config.mode == PoolMode::pooled),
          "export", "must be \"none\" for memory that comes in regions, which have no handles");
  if (config.address_range == 0) config.address_range = 8 * config.capacity;
  config.address_range = round_up(config.address_range, granularity);
  require(config.address_range >= config.capacity, "address_range",
          "must be at least the capacity of " + std::to_string(config.capacity) + " bytes");
  require(config.handle_count > 0, "handle_count", "must be at least 1");
  if (config.handle_size == 0) {
    const std::size_t share = std::bit_floor(config.capacity / config.handle_count);
    config.handle_size = std::min(share, config.handle_max);
  }
  config.handle_size = std::max(granularity, round_up(config.handle_size, granularity));
  require(config.handle_size <= config.capacity, "handle_size",
          "must be at most the capacity of " + std::to_string(config.capacity) + " bytes");
  require(config.idle_share >= 0 && config.idle_share <= 1, "idle_share", "must be from 0 to 1");
  require(config.growth_step >= 0 && config.growth_step <= 1, "growth_step", "must be from 0 to 1");
  if (const auto wrong = ladder_mistake(config.ladder)) {
    require(false, "ladder", "rung " + std::to_string(wrong->at) + ": " + wrong->what);
  }
  require(config.parked_spans <= kMostParkedSpans, "parked_spans", "must be at most 32");
  require(config.slab_max_block <= 64 * kKiB, "slab/max_block", "must be at most 65536 bytes");
  require(config.buddy_max_block <= kMiB, "buddy/max_block", "must be at most 1048576 bytes");
  require(config.point_every_frees > 0, "points/every_frees", "must be at least 1");
  require(config.trace_ring_bytes <= kMostRingBytes, "trace/ring_bytes",
          "must be at most " + std::to_string(kMostRingBytes) + " bytes");
  return config;
}

template <typename Part>
std::shared_ptr<Part> required(std::shared_ptr<Part> part, const char* name) {
  if (part == nullptr) throw Error(std::string("pool: no ") + name);
  return part;
}

std::shared_ptr<MemorySource> guarded(std::shared_ptr<MemorySource> source,
                                      const PoolConfig& config) {
  if (config.debug_guard_sample == 0) return source;
  require(source->traits().virtual_memory && config.mode == PoolMode::pooled, "debug/guard_sample",
          "must be 0 where blocks are not mapped by the pool");
  return std::make_shared<GuardSource>(std::move(source));
}

}  // namespace

std::string_view to_string(Misuse misuse) noexcept {
  switch (misuse) {
    case Misuse::none:
      return "no misuse";
    case Misuse::double_free:
      return "double free";
    case Misuse::interior_pointer:
      return "interior pointer";
    case Misuse::foreign_pointer:
      return "foreign pointer";
    case Misuse::size_mismatch:
      return "size mismatch";
    case Misuse::wrong_device:
      return "stream of another device";
    case Misuse::pool_closed:
      return "use after the pool was closed";
    case Misuse::buffer_overrun:
      return "write behind the end";
    case Misuse::use_after_free:
      return "write after free";
    case Misuse::no_host_memory:
      return "no host memory";
  }
  return "unknown misuse";
}

Pool::Impl::Impl(std::shared_ptr<MemorySource> source, std::shared_ptr<Timeline> timeline,
                 const PoolConfig& config, LogSink log, std::shared_ptr<MemoryTools> tools)
    : source_owner_(guarded(std::move(source), config)),
      timeline_(std::move(timeline)),
      config_(resolve(config, source_owner_->traits())),
      log_(std::move(log)),
      serial_(next_serial()),
      traits_(source_owner_->traits()),
      source_(*source_owner_),
      recorder_(config_.trace_ring_bytes == 0
                    ? nullptr
                    : std::make_unique<TraceRecorder>(config_.trace_ring_bytes)),
      router_(config_.slab_max_block, config_.buddy_max_block),
      clockwork_(*timeline_),
      backing_(source_, config_.capacity, config_.handle_size),
      watch_(BlockWatch::make(config_, std::move(tools))),
      plain_(recorder_ == nullptr && watch_ == nullptr && config_.mode == PoolMode::pooled),
      rungs_(config_.ladder),
      fold_quantum_(static_cast<std::int64_t>(std::max(kMiB, config_.capacity / 1024))),
      engine_(config_.handle_size) {
  states_.push_back(nullptr);  // owner 0 is everybody
  traits_.virtual_memory = config_.backing == PoolBacking::vmm;
  if (!traits_.virtual_memory || config_.mode == PoolMode::passthrough) {
    config_.address_range = 0;
    return;
  }
  engine_.reserve_island();
  const SourceResult result = source_.reserve(config_.address_range, &range_);
  if (!result.ok()) {
    throw DriverError("pool: no " + std::to_string(config_.address_range) +
                          " bytes of addresses could be reserved",
                      result.code);
  }
  range_bytes_ = config_.address_range;
  // From a multiple of the handle size on, so that handles lie at their multiples.
  const Address begin = round_up_to_multiple(range_, config_.handle_size);
  high_water_ = begin;
  engine_.add_island(begin, round_down(range_ + range_bytes_ - begin, traits_.granularity), true);
}

Pool::Impl::~Impl() { close(); }

void* Pool::Impl::allocate_block(std::size_t bytes, std::size_t margin, StreamId stream,
                                 const AllocateOptions& options) {
  if (!is_power_of_two(options.alignment)) {
    throw Error("pool: an alignment of " + std::to_string(options.alignment) +
                " is no power of two");
  }
  Request request;
  request.bytes = bytes;
  request.margin = margin;
  request.alignment = std::max(options.alignment, kMinAlignment);
  request.tag = options.tag != nullptr ? options.tag : AllocationScope::current();
  while (true) {
    if (closed()) throw ClosedError("pool: allocate after the pool was closed");
    StreamState* state = state_of(stream);
    if (state == nullptr) {
      throw Error("pool: stream " + std::to_string(stream) + " is not one of this pool's device");
    }
    if (bytes > config_.capacity || request.alignment > config_.capacity) {
      throw_out_of_memory(request, *state, "none: it is more than the capacity");
    }
    request.span = round_up(bytes + margin, kSpanUnit);
    StreamState* const arena = state->arena.load(std::memory_order_acquire);
    if (arena != nullptr) [[unlikely]] {
      fold(*state);
      state = arena;
    }
    request.key = router_.route(bytes + margin, request.alignment);
    void* block = config_.mode == PoolMode::passthrough ? allocate_alone(request, *state, stream)
                  : request.key == kSpanClass
                      ? allocate_span(request, *state, stream)
                      : allocate_small(request.key, request, *state, stream);
    if (arena != nullptr) [[unlikely]]
      fold(*state);
    if (block != nullptr) return block;
    forget_thread_slot();
  }
}

std::size_t Pool::Impl::trim(std::size_t keep) {
  if (closed()) return 0;
  const std::size_t before = backing_.held().current();
  make_up(nullptr);  // which may bring blocks into quarantine
  if (watch_ != nullptr) discharge(0);
  make_up(nullptr);
  while (wait_for_oldest()) {
  }
  poll_everybody();
  for (StreamState* state : open_states()) {
    if (!state->keeps) drop_spares(*state);
  }
  give_back(keep);
  return before - std::min<std::size_t>(before, backing_.held().current());
}

std::size_t Pool::Impl::decay() {
  if (closed()) return 0;
  const std::size_t before = backing_.held().current();
  make_up(nullptr);
  poll_everybody();
  std::size_t keep = 0;
  {
    const std::lock_guard lock(engine_mutex_);
    keep = std::max(needed_, needed_before_);
    needed_before_ = std::exchange(needed_, engine_.counts().used);
  }
  give_back(keep);
  return before - std::min<std::size_t>(before, backing_.held().current());
}

void Pool::Impl::close() noexcept {
  if (watch_ != nullptr && !closed()) discharge(0);
  if (!closed()) make_up(nullptr);
  if (closed_.exchange(true)) return;
  // Whoever is inside has the locks; whoever comes later sees that the pool is closed.
  LastWords words;
  {
    const std::lock_guard growth(growth_mutex_);
    words.say([&](std::vector<std::string>& lines) {
      last_leaks_ = leaks_now();
      if (last_leaks_.blocks == 0) return;
      const std::string text = to_text(last_leaks_);  // lines that end with '\n'
      for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = text.find('\n', begin);
        lines.push_back((begin == 0 ? "pool: closed with " : "pool: ") +
                        text.substr(begin, end - begin));
        begin = end == std::string::npos ? text.size() : end + 1;
      }
    });
    if (watch_ != nullptr) watch_->clear();
    for (StreamState* state = next_open(0); state != nullptr; state = next_open(state->owner)) {
      clockwork_.forget_all(*state);
    }
    for (StreamState* state = next_open(0); state != nullptr; state = next_open(state->owner)) {
      const std::lock_guard lock(state->mutex);
      StreamCounters& counters = state->counters;
      account_out(*state, counters.requested_in - counters.requested_out,
                  counters.allocated_in - counters.allocated_out);
      counters.frees = counters.allocations;
      fold_locked(*state);
      small_pending_.forget(state->cache.pending() + state->spans.pending());
      counters.span_blocks = counters.span_bytes = 0;
      // Nobody's from here on, while the mutex is held that its users would need.
      for (Carrier* carrier : state->cache.carriers()) {
        carrier->owner.store(nullptr, std::memory_order_release);
      }
      state->cache = SmallCache();
      state->spans = SpanCache();
      state->arena.store(nullptr, std::memory_order_release);
      state->open = false;
    }
    {
      const std::unique_lock registry(registry_mutex_);
      arenas_.clear();
    }
    const std::lock_guard lock(engine_mutex_);
    engine_.clear();
    deferred_bytes_ = 0;
    deferred_.clear();
    uses_.clear();
    stuck_.clear();
    alone_.clear();
    give_everything_back(words);
    sample_levels();
  }
  for (const std::string& line : words.lines) log(line);
  if (words.lost) log("pool: closing: the host had no memory to say all of it");
}

// REQUIRES: growth and engine locks.
void Pool::Impl::give_everything_back(LastWords& words) noexcept {
  while (!backing_.mappings().empty()) {
    const Mapping mapping = backing_.mappings().begin()->second;
    const SourceResult result =
        mapping.handle != 0 ? backing_.unmap(mapping) : backing_.free_region(mapping);
    if (!result.ok()) {
      words.say([&](auto& lines) { lines.push_back("pool: closing: " + backing_.last_failure()); });
    }
    backing_.remove(mapping);
  }
  backing_.release_idle(0);
  if (backing_.held().current() > 0) {
    words.say([&](auto& lines) {
      lines.push_back("pool: closing: " + std::to_string(backing_.held().current()) +
                      " bytes could not be given back: " + backing_.last_failure());
    });
  }
  // Addresses at which something is still mapped stay reserved: a driver refuses to free those.
  const bool mapped = backing_.mapped().current() > 0;
  if (range_ != 0 && (mapped || !source_.unreserve(range_, range_bytes_).ok())) {
    words.say([](auto& lines) {
      lines.push_back("pool: closing: the addresses could not be given back");
    });
  }
  range_ = 0;
}

void Pool::Impl::set_misuse_handler(MisuseHandler handler) {
  const std::lock_guard lock(handler_mutex_);
  handler_ = std::move(handler);
}

void Pool::Impl::add_pressure_callback(PressureCallback callback) {
  if (!callback) throw Error("pool: an empty pressure callback");
  const std::lock_guard lock(handler_mutex_);
  pressure_callbacks_.push_back(std::move(callback));
}

void Pool::Impl::set_mapping_callback(MappingCallback callback) {
  const std::lock_guard growth(growth_mutex_);
  if (!callback) return backing_.set_observer({});
  backing_.set_observer([this, callback = std::move(callback)](Address address, std::size_t bytes,
                                                               bool mapped) {
    // What was begun has to be ended, or the books and the memory would differ.
    std::array<char, 200> line{"pool: the mapping callback threw"};
    try {
      return callback(address, bytes, mapped);
    } catch (const std::exception& error) {
      std::snprintf(line.data(), line.size(), "pool: the mapping callback threw: %s", error.what());
    } catch (...) {  // which says nothing of itself
    }
    log(line.data());
  });
}

// The public handle ------------------------------------------------------------------------------

Pool::Pool(std::shared_ptr<MemorySource> source, std::shared_ptr<Timeline> timeline,
           const PoolConfig& config, LogSink log, std::shared_ptr<MemoryTools> tools)
    : impl_(std::make_shared<Impl>(required(std::move(source), "memory source"),
                                   required(std::move(timeline), "timeline"), config,
                                   std::move(log), std::move(tools))) {}

Misuse Pool::record_use(const void* pointer, StreamId stream) noexcept {
  return impl_->record_use(pointer, stream);
}

BlockPieces Pool::pieces(const void* pointer) const { return impl_->pieces(pointer); }

ArenaId Pool::begin_capture(StreamId stream) { return impl_->begin_capture(stream); }
void Pool::end_capture(StreamId stream) noexcept { impl_->end_capture(stream); }
void Pool::drop_arena(ArenaId arena) noexcept { impl_->drop_arena(arena); }
bool Pool::retire_stream(StreamId stream) noexcept { return impl_->retire_stream(stream); }
std::size_t Pool::trim(std::size_t keep) { return impl_->trim(keep); }
std::size_t Pool::decay() { return impl_->decay(); }
void Pool::add_pressure_callback(PressureCallback callback) {
  impl_->add_pressure_callback(std::move(callback));
}
void Pool::set_mapping_callback(MappingCallback callback) {
  impl_->set_mapping_callback(std::move(callback));
}
void Pool::close() noexcept { impl_->close(); }
bool Pool::closed() const noexcept { return impl_->closed(); }
void Pool::set_misuse_handler(MisuseHandler handler) {
  impl_->set_misuse_handler(std::move(handler));
}
PoolStats Pool::stats() const { return impl_->stats(); }
PoolStats Pool::detailed_stats(std::size_t map_ranges) const {
  return impl_->detailed_stats(map_ranges);
}
LeakReport Pool::leak_report() const { return impl_->leak_report(); }
std::string Pool::validate() const { return impl_->validate(); }
Trace Pool::trace() const { return impl_->trace(); }
PoolConfig Pool::config() const { return impl_->config(); }

}  // namespace forebay::pool
