// Many threads on one pool; worth most under the thread sanitizer.
#include <atomic>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "forebay/pool/pool.hpp"
#include "pool/units.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::pool;
using forebay::pool::test::World;

namespace {

struct Parcel {
  void* block;
  std::size_t bytes;
  StreamId stream;
};

// Blocks that one thread allocates and another frees.
class Exchange {
 public:
  void put(const Parcel& parcel) {
    const std::lock_guard lock(mutex_);
    parcels_.push_back(parcel);
  }
  bool get(Parcel* parcel) {
    const std::lock_guard lock(mutex_);
    if (parcels_.empty()) return false;
    *parcel = parcels_.back();
    parcels_.pop_back();
    return true;
  }

 private:
  std::mutex mutex_;
  std::vector<Parcel> parcels_;
};

void stress(const World::Config& config, int operations) {
  constexpr unsigned kThreads = 8;
  World world(config);
  Exchange exchange;
  std::atomic<unsigned> misuses{0}, running{kThreads}, served{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      std::vector<Parcel> own;
      const auto free = [&](const Parcel& parcel, StreamId stream) {
        if (stream != parcel.stream &&
            world.pool.record_use(parcel.block, parcel.stream) != Misuse::none) {
          ++misuses;
        }
        if (world.pool.try_deallocate(parcel.block, stream, parcel.bytes) != Misuse::none) {
          ++misuses;
        }
      };
      for (int i = 0; i < operations; ++i) {
        // Mostly a stream of its own, now and then one that all share.
        const StreamId stream = random() % 4 == 0 ? 1 : 2 + t % (config.streams - 1);
        const std::size_t bytes = random() % 20 == 0  ? 1 + random() % (3 * kMiB)
                                  : random() % 4 == 0 ? 1 + random() % (300 * kKiB)
                                                      : 1 + random() % (10 * kKiB);
        try {
          const Parcel parcel{world.pool.allocate(bytes, stream), bytes, stream};
          ++served;
          if (random() % 4 == 0) {
            exchange.put(parcel);
          } else {
            own.push_back(parcel);
          }
        } catch (const OutOfMemory&) {
          while (own.size() > 2) {
            free(own.back(), own.back().stream);
            own.pop_back();
          }
        }
        Parcel foreign;
        if (random() % 4 == 0 && exchange.get(&foreign)) free(foreign, stream);
        if (own.size() > 20) {
          std::swap(own[random() % own.size()], own.back());
          free(own.back(), own.back().stream);
          own.pop_back();
        }
        if (random() % 200 == 0) (void)world.pool.stats();
        if (random() % 400 == 0) world.pool.trim(16 * kMiB);
      }
      for (const Parcel& parcel : own) free(parcel, parcel.stream);
      --running;
    });
  }
  while (running > 0) {
    world.timeline->run_all();
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  Parcel left;
  while (exchange.get(&left)) world.pool.deallocate(left.block, left.stream);
  world.timeline->run_all();
  world.pool.trim();
  CHECK(misuses == 0);
  CHECK(world.sound());
  const PoolStats stats = world.pool.stats();
  CHECK(stats.allocations.live == 0);
  CHECK(stats.allocations.total == served);
  CHECK(stats.held.current == 0);
  CHECK(stats.pending.current == 0);
}

}  // namespace

TEST_CASE("eight threads share a pool with memory to spare") {
  stress({.capacity = 512 * kMiB, .streams = 9}, 2000);
}

TEST_CASE("eight threads share a pool at the limit of its capacity") {
  stress({.capacity = 24 * kMiB, .wait_limit_ms = 100, .streams = 9}, 600);
}

TEST_CASE("eight threads share three streams") {
  stress({.capacity = 128 * kMiB, .streams = 3}, 1000);
}

TEST_CASE("eight threads share a pool of regions, and one in passthrough") {
  stress({.capacity = 96 * kMiB, .virtual_memory = false, .streams = 9}, 500);
  stress({.capacity = 96 * kMiB, .mode = PoolMode::passthrough, .streams = 9}, 300);
}

TEST_CASE("eight threads share a pool with every debug mode on") {
  World::Config config{.capacity = 512 * kMiB, .streams = 9};
  config.tools = true;
  config.fill = true;
  config.canary = 32;
  config.guard_sample = 50;
  config.quarantine = 4 * kMiB;
  config.stacks = StackMode::sampled;
  config.sample_bytes = 256 * kKiB;
  stress(config, 250);
}

TEST_CASE("streams are retired while others work") {
  World world(World::Config{.capacity = 128 * kMiB, .immediate = true, .streams = 1});
  std::atomic<unsigned> misuses{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < 100; ++i) {
        const StreamId stream = 100 + t * 1000 + i;
        world.timeline->add_stream(stream);
        std::vector<void*> blocks;
        for (const std::size_t bytes : {std::size_t{100}, 3 * kKiB, 200 * kKiB, 2 * kMiB}) {
          blocks.push_back(world.pool.allocate(bytes, stream));
        }
        // Half of them are freed on the stream, the rest elsewhere after it has gone.
        for (std::size_t b = 0; b < 2; ++b) {
          if (world.pool.try_deallocate(blocks[b], stream) != Misuse::none) ++misuses;
        }
        world.pool.retire_stream(stream);
        world.timeline->remove_stream(stream);
        for (std::size_t b = 2; b < 4; ++b) {
          if (world.pool.try_deallocate(blocks[b], 1) != Misuse::none) ++misuses;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(misuses == 0);
  world.pool.trim();
  CHECK(world.sound());
  CHECK(world.pool.stats().streams.size() <= 2);
  CHECK(world.pool.stats().allocations.live == 0);
}

TEST_CASE("a pool is closed under the feet of its users") {
  World world(World::Config{.capacity = 128 * kMiB, .immediate = true, .streams = 5});
  std::atomic<bool> go{true};
  std::atomic<unsigned> wrong{0}, started{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      try {
        while (go) {
          void* block = world.pool.allocate(1 + random() % (300 * kKiB), 1 + t);
          ++started;
          // Half of them elsewhere, some of those after two streams.
          const StreamId stream = random() % 2 == 0 ? 1 + t : 1 + random() % 5;
          if (random() % 4 == 0) (void)world.pool.record_use(block, 1 + random() % 5);
          const Misuse misuse = world.pool.try_deallocate(block, stream);
          if (misuse != Misuse::none && misuse != Misuse::pool_closed) ++wrong;
        }
      } catch (const ClosedError&) {
      }
    });
  }
  while (started < 200) std::this_thread::yield();
  world.pool.close();
  go = false;
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(world.source->handles() == 0);
  CHECK(check_identities(world.pool.stats()).empty());
}

TEST_CASE("couples of threads pass large blocks on, which move from stream to stream") {
  constexpr unsigned kCouples = 4;
  constexpr int kBlocks = 1500;
  World world(World::Config{.capacity = 256 * kMiB, .immediate = true, .streams = 2 * kCouples});
  std::vector<Exchange> exchanges(kCouples);
  std::atomic<unsigned> misuses{0};
  std::vector<std::thread> threads;
  for (unsigned couple = 0; couple < kCouples; ++couple) {
    const StreamId from = 1 + 2 * couple, to = from + 1;
    threads.emplace_back([&, couple, from] {
      for (int i = 0; i < kBlocks;) {
        try {
          // Two sizes, one of which all couples have.
          const std::size_t bytes = i % 3 == 0 ? 2 * kMiB : (2 + couple) * kMiB;
          exchanges[couple].put({world.pool.allocate(bytes, from), bytes, from});
          ++i;
        } catch (const OutOfMemory&) {
          std::this_thread::yield();  // until the consumers have caught up
        }
      }
    });
    threads.emplace_back([&, couple, from, to] {
      for (int i = 0; i < kBlocks;) {
        Parcel parcel{};
        if (!exchanges[couple].get(&parcel)) {
          std::this_thread::yield();
          continue;
        }
        // Now and then the producer's own stream takes it back.
        const StreamId stream = i % 50 == 0 ? from : to;
        if (world.pool.try_deallocate(parcel.block, stream, parcel.bytes) != Misuse::none) {
          ++misuses;
        }
        ++i;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(misuses == 0);
  const PoolStats stats = world.pool.stats();
  CHECK(stats.allocations.frees == kCouples * kBlocks);
  CHECK(stats.allocations.live == 0);
  CHECK(world.sound());
  world.pool.trim();
  CHECK(world.pool.stats().held.current == 0);
  CHECK(world.sound());
}
