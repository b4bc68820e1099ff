// What a pool's policies promise, on worlds in which a scan of all bytes can tell.
#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "forebay/pool/pool.hpp"
#include "pool/units.hpp"
#include "tests/pool/effort.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::pool;
using forebay::pool::test::operations;
using forebay::pool::test::World;

namespace {

// A pool whose blocks are whole handles, so that all that is free can be moved, beside a naive
// model: the live blocks.
class WholeHandles {
 public:
  explicit WholeHandles(unsigned seed) : random_(seed), config_(any_config()), world_(config_) {}

  void run(std::size_t operations) {
    for (std::size_t i = 0; i < operations; ++i) {
      INFO("operation " << i);
      if (pick(20) == 0) world_.timeline->run(1 + pick(config_.streams), 1 + pick(20));
      if (pick(2) == 0 || blocks_.empty()) {
        allocate();
      } else {
        free_one();
      }
      check_mapped();
      if (i < 300 || i % 97 == 0) REQUIRE(world_.sound());
    }
    if (config_.immediate) {
      REQUIRE(world_.pool.stats().held.peak <= std::max(config_.soft_limit, most_live_));
    }
  }
  [[nodiscard]] std::size_t refused() const { return refused_; }
  [[nodiscard]] std::size_t grown() const { return grown_; }
  [[nodiscard]] std::size_t spared() const { return spared_; }

 private:
  struct Block {
    std::size_t bytes;
    StreamId stream;
  };

  std::size_t pick(std::size_t below) { return random_() % below; }
  World::Config any_config() {
    World::Config config;
    config.handle_size = 2 * kMiB * (1 + pick(3));
    config.capacity = config.handle_size * (8 + pick(57));
    config.slab_max_block = config.buddy_max_block = 0;
    config.soft_limit = config.handle_size * (1 + pick(config.capacity / config.handle_size));
    config.headroom = pick(2) * 10 * kMiB;
    config.device = config.capacity + pick(2) * 8 * kMiB;
    config.ladder = test::ladder_with(pick(2) == 0 ? LadderRung::map : LadderRung::steal);
    config.growth_step = pick(3) == 0 ? 0 : 0.1 * static_cast<double>(pick(10));
    config.idle_share = 0.1 * static_cast<double>(pick(11));
    config.point_every_frees = 1 + static_cast<std::uint32_t>(pick(64));
    config.immediate = pick(2) == 0;
    config.streams = 1 + static_cast<unsigned>(pick(3));
    return config;
  }

  // Memory that is mapped and nobody's, in runs: the longest, and all of it.
  struct Free {
    std::size_t longest = 0, bytes = 0;
  };
  Free free_memory() const {
    Free free;
    std::size_t run = 0;
    Address reached = 0;
    for (const auto& [address, bytes] : mapped_) {
      if (address != reached) run = 0;
      reached = address + bytes;
      auto live = blocks_.upper_bound(address);
      if (live != blocks_.begin()) --live;
      const bool used = live != blocks_.end() && live->first <= address &&
                        address < live->first + live->second.bytes;
      run = used ? 0 : run + bytes;
      free.bytes += used ? 0 : bytes;
      free.longest = std::max(free.longest, run);
    }
    return free;
  }

  void allocate() {
    const StreamId stream = 1 + pick(config_.streams);
    const std::size_t bytes = config_.handle_size * (1 + pick(6));
    const std::size_t held = world_.source->used_bytes();
    const Free free = free_memory();
    void* pointer = nullptr;
    try {
      pointer = world_.pool.allocate(bytes, stream);
    } catch (const OutOfMemory&) {
      ++refused_;
      // Whatever the order of events, memory that is there is found, if it has to be waited for.
      const std::size_t reserve = std::min(config_.headroom, config_.device);
      const std::size_t most = std::min(config_.capacity, config_.device - reserve);
      REQUIRE(live_ + bytes > round_down_to_handles(most));
      return;
    }
    const auto address = reinterpret_cast<Address>(pointer);
    REQUIRE(world_.source->accessible(address, bytes));
    const auto after = blocks_.lower_bound(address);
    REQUIRE((after == blocks_.end() || after->first >= address + bytes));
    REQUIRE((after == blocks_.begin() ||
             std::prev(after)->first + std::prev(after)->second.bytes <= address));
    blocks_[address] = {bytes, stream};
    live_ += bytes;
    most_live_ = std::max(most_live_, live_);
    const std::size_t now = world_.source->used_bytes();
    if (now > held) check_growth(held, now, bytes, free);
  }

  void check_growth(std::size_t held, std::size_t now, std::size_t bytes, const Free& free) {
    ++grown_;
    REQUIRE(world_.source->free_bytes() >= config_.headroom);
    // What goes beyond the need is the share that policy allows.
    const auto scale = static_cast<double>(std::max(held, config_.capacity / 64));
    const auto step = static_cast<std::size_t>(config_.growth_step * scale);
    REQUIRE(now - held <= bytes + step);
    // Above the soft limit nothing is added while what is there would do.
    if (now > config_.soft_limit) {
      REQUIRE(free.longest < bytes);
      if (config_.immediate) REQUIRE(now <= std::max(config_.soft_limit, live_));
    }
    // Others' memory comes first where policy says so.
    if (config_.ladder[1] == LadderRung::steal) REQUIRE(free.longest < bytes);
    // A pool far from its capacity with much that is idle moves that, and adds only what lacks.
    const bool moves =
        held < config_.capacity / 4 &&
        static_cast<double>(free.bytes) > config_.idle_share * static_cast<double>(held);
    if (moves && config_.immediate) {
      ++spared_;
      REQUIRE(now - held <= bytes - std::min(bytes, free.bytes));
    }
  }

  void free_one() {
    auto at = blocks_.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(pick(blocks_.size())));
    world_.timeline->work(at->second.stream);
    REQUIRE(world_.pool.try_deallocate(reinterpret_cast<void*>(at->first), at->second.stream) ==
            Misuse::none);
    live_ -= at->second.bytes;
    blocks_.erase(at);
  }

  // The callbacks told of each handle: what they add up to is what the pool has mapped.
  void check_mapped() {
    std::size_t bytes = 0;
    for (const auto& [address, size] : mapped_) bytes += size;
    REQUIRE(bytes == world_.pool.stats().mapped.current);
  }
  std::size_t round_down_to_handles(std::size_t bytes) const {
    return bytes / (2 * kMiB) * (2 * kMiB);
  }

  std::mt19937 random_;
  const World::Config config_;
  std::map<Address, std::size_t> mapped_;  // by granule; `world_` tells of it until its end
  World world_;
  std::map<Address, Block> blocks_;
  std::size_t live_ = 0, most_live_ = 0, refused_ = 0, grown_ = 0, spared_ = 0;

 public:
  // Follows what is mapped, granule by granule.
  void follow() {
    world_.pool.set_mapping_callback([this](Address address, std::size_t bytes, bool mapped) {
      for (std::size_t at = 0; at < bytes; at += 2 * kMiB) {
        if (mapped) {
          mapped_[address + at] = 2 * kMiB;
        } else {
          mapped_.erase(address + at);
        }
      }
    });
  }
};

}  // namespace

TEST_CASE("blocks of whole handles get all of the capacity, and policy holds at each growth") {
  std::size_t refused = 0, grown = 0, spared = 0;
  for (unsigned seed = 1; seed <= 100; ++seed) {
    INFO("seed " << seed);
    WholeHandles program(seed);
    program.follow();
    program.run(operations(1'000, 50));
    refused += program.refused();
    grown += program.grown();
    spared += program.spared();
  }
  CHECK(refused > 100);
  CHECK(grown > 100);
  CHECK(spared > 10);
}
