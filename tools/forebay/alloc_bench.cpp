#include "tools/forebay/alloc_bench.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "tools/forebay/batches.hpp"
#include "tools/forebay/clock.hpp"

namespace forebay::tools {
namespace {

using Clock = std::chrono::steady_clock;
using Kind = AllocCase::Kind;

constexpr std::size_t kSmallest = 256;
constexpr unsigned kWarmUp = 64;  // batches

/// Blocks that live, and go in the end.
class Blocks {
 public:
  explicit Blocks(Allocator& allocator) : allocator_(allocator) {}
  ~Blocks() {
    for (const Block& block : blocks) allocator_.free(block.pointer, block.bytes, 0);
  }
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;

  /// `size()` gives the bytes of each block.
  template <typename Size>
  void fill(std::uint64_t count, Size&& size, double limit_s) {
    blocks.reserve(count);
    const double start = now_s();
    while (blocks.size() < count) {
      const std::size_t bytes = size();
      blocks.push_back({allocator_.allocate(bytes, 0), bytes});
      if (blocks.size() % 1024 == 0 && now_s() - start > limit_s) {
        throw TooSlow("after " + std::to_string(blocks.size()) + " of " + std::to_string(count) +
                      " blocks their time was over");
      }
    }
  }

  struct Block {
    void* pointer;
    std::size_t bytes;
  };
  std::vector<Block> blocks;

 private:
  Allocator& allocator_;
};

/// xorshift64*: cheap beside what is measured.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  std::uint32_t next() noexcept {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<std::uint32_t>(state_ * 0x2545F4914F6CDD1Du >> 32);
  }
  std::size_t below(std::size_t end) noexcept { return next() * std::uint64_t{end} >> 32; }

 private:
  std::uint64_t state_;
};

/// Sizes from kSmallest to `largest`, drawn beforehand, as many in each octave.
class Sizes {
 public:
  explicit Sizes(std::size_t largest) {
    Random random(7);
    const double octaves = std::log2(static_cast<double>(largest) / kSmallest);
    for (std::size_t& size : sizes_) {
      const double exponent = octaves * random.next() / 4294967296.0;
      size = static_cast<std::size_t>(kSmallest * std::exp2(exponent));
    }
  }
  std::size_t operator()() noexcept { return sizes_[next_++ % sizes_.size()]; }

 private:
  std::array<std::size_t, 4096> sizes_;
  std::size_t next_ = 0;
};

void pair_batch(Allocator& allocator, std::size_t bytes, unsigned stream) {
  for (unsigned i = 0; i < kBatchPairs; ++i) {
    allocator.free(allocator.allocate(bytes, stream), bytes, stream);
  }
}

void ordered_batch(Allocator& allocator, std::size_t bytes, bool last_first) {
  std::array<void*, kBatchPairs> blocks{};
  unsigned count = 0;
  try {
    for (; count < kBatchPairs; ++count) blocks[count] = allocator.allocate(bytes, 0);
  } catch (...) {
    while (count > 0) allocator.free(blocks[--count], bytes, 0);
    throw;
  }
  if (last_first) std::reverse(blocks.begin(), blocks.end());
  for (void* block : blocks) allocator.free(block, bytes, 0);
}

/// Blocks on their way from one thread to another, a batch at a time.
class Belt {
 public:
  struct Batch {
    std::array<void*, kBatchPairs> blocks{};
    Clock::duration spent{};  ///< on their allocation
  };
  /// Waits while the belt is full; false when it was stopped.
  bool put(const Batch& batch, const std::atomic<bool>& stop) {
    const std::uint64_t at = put_.load(std::memory_order_relaxed);
    while (at - taken_.load(std::memory_order_acquire) == kLength) {
      if (stop.load(std::memory_order_relaxed)) return false;
      std::this_thread::yield();
    }
    batches_[at % kLength] = batch;
    put_.store(at + 1, std::memory_order_release);
    return true;
  }
  /// False when there is nothing.
  bool take(Batch* batch) {
    const std::uint64_t at = taken_.load(std::memory_order_relaxed);
    if (put_.load(std::memory_order_acquire) == at) return false;
    *batch = batches_[at % kLength];
    taken_.store(at + 1, std::memory_order_release);
    return true;
  }

 private:
  static constexpr std::uint64_t kLength = 16;
  std::array<Batch, kLength> batches_{};
  alignas(64) std::atomic<std::uint64_t> put_{0};
  alignas(64) std::atomic<std::uint64_t> taken_{0};
};

Belt::Batch produce(Allocator& allocator, std::size_t bytes, unsigned stream) {
  Belt::Batch batch;
  const auto start = Clock::now();
  unsigned count = 0;
  try {
    for (; count < kBatchPairs; ++count) batch.blocks[count] = allocator.allocate(bytes, stream);
  } catch (...) {
    while (count > 0) allocator.free(batch.blocks[--count], bytes, stream);
    throw;
  }
  batch.spent = Clock::now() - start;
  return batch;
}

void consume(Allocator& allocator, const Belt::Batch& batch, std::size_t bytes, unsigned stream) {
  for (void* block : batch.blocks) allocator.free(block, bytes, stream);
}

/// Threads that begin to measure together, once all of them are warm, and stop together: when the
/// time is over or one of them fails.
class Crew {
 public:
  explicit Crew(const AllocLimits& limits)
      : time_(std::chrono::duration_cast<Clock::duration>(
            std::chrono::duration<double>(limits.row_s))) {}

  /// Calls `work(thread)` on each thread (on this one if it is the only one), which calls `begin`,
  /// works until `end`, and returns when it stopped. Returns the seconds from the beginning to the
  /// last stop. Throws what the first thread that failed threw.
  template <typename Work>
  double run(unsigned threads, Work&& work) {
    waiting_ = threads;
    std::vector<Clock::time_point> stopped(threads);
    if (threads == 1) {
      stopped[0] = work(0);
      return seconds(stopped);
    }
    std::vector<std::thread> crew;
    crew.reserve(threads);
    for (unsigned i = 0; i < threads; ++i) {
      crew.emplace_back([&, i] {
        try {
          stopped[i] = work(i);
        } catch (...) {
          const std::lock_guard lock(mutex_);
          if (!error_) error_ = std::current_exception();
          stop = true;
        }
      });
    }
    for (std::thread& thread : crew) thread.join();
    if (error_) std::rethrow_exception(error_);
    return seconds(stopped);
  }
  /// Waits until every thread has called it.
  void begin() {
    if (--waiting_ == 0) {
      end = Clock::now() + time_;
      begun_.store(true, std::memory_order_release);
    }
    while (!begun_.load(std::memory_order_acquire) && !stop) std::this_thread::yield();
  }

  Clock::time_point end;  ///< after `begin`
  std::atomic<bool> stop{false};

 private:
  [[nodiscard]] double seconds(const std::vector<Clock::time_point>& stopped) const {
    const auto last = *std::max_element(stopped.begin(), stopped.end());
    return std::chrono::duration<double>(last - (end - time_)).count();
  }

  const Clock::duration time_;
  std::atomic<unsigned> waiting_{0};
  std::atomic<bool> begun_{false};
  std::mutex mutex_;
  std::exception_ptr error_;  // mutex_
};

/// Calls a function when a scope is left.
template <typename Function>
class Finally {
 public:
  explicit Finally(Function function) : function_(std::move(function)) {}
  ~Finally() { function_(); }
  Finally(const Finally&) = delete;
  Finally& operator=(const Finally&) = delete;

 private:
  Function function_;
};

/// Who works where.
struct Place {
  Allocator* allocator;
  unsigned stream;
};
using Places = std::function<Place(unsigned thread)>;

void sum_up(AllocRow& row) {
  row.pairs = row.times.size() * kBatchPairs;
  row.p50_ns = percentile(row.times, 0.50);
  row.p99_ns = percentile(row.times, 0.99);
  row.pairs_per_s = static_cast<double>(row.pairs) / row.seconds;
}

void fill_in(const std::vector<Batches>& batches, double seconds, AllocRow& row) {
  for (const Batches& of : batches) {
    row.times.insert(row.times.end(), of.times().begin(), of.times().end());
  }
  row.seconds = seconds;
  sum_up(row);
}

/// Warms `batch` up, then times it on each thread. `batch(thread)` runs one.
template <typename Batch>
void timed(const AllocCase& what, const AllocLimits& limits, const Places& places, AllocRow& row,
           Batch&& batch) {
  std::vector<Batches> batches(what.threads);
  Crew crew(limits);
  const double seconds = crew.run(what.threads, [&](unsigned thread) {
    const Place place = places(thread);
    place.allocator->enter_thread();
    const auto one = [&] { batch(thread, place); };
    for (unsigned i = 0; i < kWarmUp && !crew.stop; ++i) one();
    crew.begin();
    return batches[thread].run(one, crew.end, crew.stop);
  });
  fill_in(batches, seconds, row);
}

// Even threads produce what the odd ones beside them consume.
void producers_and_consumers(const AllocCase& what, const AllocLimits& limits, const Places& places,
                             AllocRow& row) {
  const unsigned couples = what.threads / 2;
  std::vector<Belt> belts(couples);
  std::vector<Batches> batches(couples);
  std::atomic<unsigned> producing{couples};
  Crew crew(limits);
  const auto produce_all = [&](const Place& place, Belt& belt) {
    const Finally done([&] { --producing; });
    crew.begin();
    Clock::time_point last;
    do {
      const Belt::Batch batch = produce(*place.allocator, what.bytes, place.stream);
      if (!belt.put(batch, crew.stop)) {
        consume(*place.allocator, batch, what.bytes, place.stream);
      }
      last = Clock::now();
    } while (last < crew.end && !crew.stop);
    return last;
  };
  const auto consume_all = [&](const Place& place, Belt& belt, Batches& times) {
    crew.begin();
    auto last = Clock::now();
    Belt::Batch batch;
    while (true) {
      const bool over = producing == 0;
      if (!belt.take(&batch)) {
        if (over) return last;
        std::this_thread::yield();
        continue;
      }
      const auto start = Clock::now();
      consume(*place.allocator, batch, what.bytes, place.stream);
      last = Clock::now();
      if (!times.full()) times.add(last - start + batch.spent);
    }
  };
  const double seconds = crew.run(what.threads, [&](unsigned thread) {
    const Place place = places(thread);
    place.allocator->enter_thread();
    Belt& belt = belts[thread / 2];
    return thread % 2 == 0 ? produce_all(place, belt)
                           : consume_all(place, belt, batches[thread / 2]);
  });
  fill_in(batches, seconds, row);
}

AllocRow begin_row(const char* allocator, const AllocCase& what) {
  AllocRow row;
  row.allocator = allocator;
  row.name = name_of(what.kind);
  row.bytes = what.bytes;
  row.live = what.live;
  row.threads = what.threads;
  return row;
}

void on_one_thread(Allocator& allocator, const AllocCase& what, const AllocLimits& limits,
                   AllocRow& row) {
  Blocks live(allocator);
  const Places here = [&](unsigned) { return Place{&allocator, 0}; };
  allocator.enter_thread();
  if (what.kind == Kind::churn) {
    Sizes sizes(what.bytes);
    Random random(3);
    live.fill(what.live, sizes, limits.setup_s);
    timed(what, limits, here, row, [&](unsigned, const Place&) {
      for (unsigned i = 0; i < kBatchPairs; ++i) {
        Blocks::Block& block = live.blocks[random.below(live.blocks.size())];
        allocator.free(block.pointer, block.bytes, 0);
        block.pointer = nullptr;
        block.bytes = sizes();
        block.pointer = allocator.allocate(block.bytes, 0);
      }
    });
    return;
  }
  live.fill(
      what.live, [&] { return what.bytes; }, limits.setup_s);
  timed(what, limits, here, row, [&](unsigned, const Place&) {
    if (what.kind == Kind::pair) {
      pair_batch(allocator, what.bytes, 0);
    } else {
      ordered_batch(allocator, what.bytes, what.kind == Kind::lifo);
    }
  });
}

void on_threads(const AllocCase& what, const AllocLimits& limits, const Places& places,
                AllocRow& row) {
  timed(what, limits, places, row, [&](unsigned, const Place& place) {
    pair_batch(*place.allocator, what.bytes, place.stream);
  });
}

// Each thread is its own consumer, over a belt of its own.
void own_consumers(const AllocCase& what, const AllocLimits& limits, const Places& places,
                   AllocRow& row) {
  std::vector<Belt> belts(what.threads);
  const std::atomic<bool> never{false};
  timed(what, limits, places, row, [&](unsigned thread, const Place& place) {
    Belt::Batch batch = produce(*place.allocator, what.bytes, place.stream);
    belts[thread].put(batch, never);
    belts[thread].take(&batch);
    consume(*place.allocator, batch, what.bytes, place.stream);
  });
}

}  // namespace

void add_turn(AllocRow& row, const AllocRow& turn) {
  row.times.insert(row.times.end(), turn.times.begin(), turn.times.end());
  row.seconds += turn.seconds;
  sum_up(row);
}

const char* name_of(Kind kind) noexcept {
  switch (kind) {
    case Kind::pair:
      return "pair";
    case Kind::churn:
      return "churn";
    case Kind::lifo:
      return "lifo";
    case Kind::fifo:
      return "fifo";
    case Kind::own_streams:
      return "own-streams";
    case Kind::shared_stream:
      return "shared-stream";
    case Kind::producer_consumer:
      return "producer-consumer";
  }
  return "unknown";
}

bool has_control(Kind kind) noexcept {
  return kind == Kind::own_streams || kind == Kind::shared_stream ||
         kind == Kind::producer_consumer;
}

AllocRow run_case(Allocator& allocator, const AllocCase& what, const AllocLimits& limits) {
  AllocRow row = begin_row(allocator.name(), what);
  if (!has_control(what.kind)) {
    on_one_thread(allocator, what, limits, row);
    return row;
  }
  const bool shared = what.kind == Kind::shared_stream;
  const Places places = [&](unsigned thread) { return Place{&allocator, shared ? 0 : thread}; };
  if (what.kind == Kind::producer_consumer) {
    producers_and_consumers(what, limits, places, row);
  } else {
    on_threads(what, limits, places, row);
  }
  return row;
}

AllocRow run_control(const std::vector<std::unique_ptr<Allocator>>& allocators,
                     const AllocCase& what, const AllocLimits& limits) {
  AllocRow row = begin_row("control", what);
  const Places places = [&](unsigned thread) { return Place{allocators[thread].get(), 0}; };
  if (what.kind == Kind::producer_consumer) {
    own_consumers(what, limits, places, row);
  } else {
    on_threads(what, limits, places, row);
  }
  return row;
}

}  // namespace forebay::tools
