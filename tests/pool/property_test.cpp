// Random programs on many streams, whose points pass in random order, against a shadow that knows
// who used each byte last.
#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "forebay/pool/pool.hpp"
#include "forebay/pool/simulated.hpp"
#include "pool/units.hpp"
#include "tests/pool/shadow.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::pool;
using forebay::pool::test::Shadow;
using forebay::pool::test::World;

namespace {

struct Plan {
  World::Config config;
  std::size_t operations = 20'000;
  std::size_t validated = 500;  // the first so many are each validated, then every 997th
  std::size_t live = 1'000;
  std::size_t largest = 3 * kMiB;
  bool retire = false;
};

class Program {
 public:
  Program(const Plan& plan, unsigned seed)
      : plan_(plan), world_(plan.config), shadow_(*world_.timeline), random_(seed) {
    for (unsigned stream = 1; stream <= plan.config.streams; ++stream) streams_.push_back(stream);
    next_stream_ = plan.config.streams + 1;
  }

  void run() {
    for (std::size_t i = 0; i < plan_.operations; ++i) {
      step();
      if (i < plan_.validated || i % 997 == 0) {
        INFO("operation " << i);
        REQUIRE(world_.sound());
      }
    }
    while (!blocks_.empty()) free_one();
    world_.timeline->run_all();
    world_.pool.trim(0);
    REQUIRE(world_.sound());
    const PoolStats stats = world_.pool.stats();
    CHECK(stats.held.current == 0);
    CHECK(stats.pending.current == 0);
    const bool range = plan_.config.virtual_memory && plan_.config.mode == PoolMode::pooled;
    CHECK(stats.span.extents == (range ? 1 : 0));
    CHECK(stats.requested.total > 0);
    outcome_ = stats;
  }
  [[nodiscard]] const PoolStats& outcome() const { return outcome_; }
  [[nodiscard]] std::size_t out_of_memory() const { return out_of_memory_; }

 private:
  struct Block {
    Address address;
    std::size_t bytes;
    StreamId stream;
    std::vector<StreamId> others;
  };

  std::size_t pick(std::size_t below) { return random_() % below; }
  StreamId pick_stream() { return streams_[pick(streams_.size())]; }
  std::size_t pick_size() {
    switch (pick(16)) {
      case 0:
        return 1 + pick(plan_.largest);
      case 1:
        return 1 + pick(kMiB);
      case 2:
      case 3:
        return 1 + pick(100 * kKiB);
      default:
        return 1 + pick(8 * kKiB);
    }
  }

  void step() {
    const std::size_t kind = pick(100);
    if (kind < 20) {
      world_.timeline->run(pick_stream(), 1 + pick(50));
    } else if (kind < 30 && !blocks_.empty()) {
      Block& block = blocks_[pick(blocks_.size())];
      const StreamId stream = pick_stream();
      shadow_.use(block.address, stream);
      REQUIRE(world_.pool.record_use(reinterpret_cast<void*>(block.address), stream) ==
              Misuse::none);
    } else if (kind == 30 && plan_.retire && streams_.size() > 2) {
      retire();
    } else if (pick(2 * plan_.live) < blocks_.size()) {
      free_one();
    } else {
      allocate();
    }
  }

  void allocate() {
    const std::size_t bytes = pick_size();
    const StreamId stream = pick_stream();
    AllocateOptions options;
    if (pick(10) == 0) options.alignment = std::size_t{1} << pick(18);
    void* pointer = nullptr;
    try {
      pointer = world_.pool.allocate(bytes, stream, options);
    } catch (const OutOfMemory&) {
      ++out_of_memory_;
      for (int i = 0; i < 20 && !blocks_.empty(); ++i) free_one();
      return;
    }
    const auto address = reinterpret_cast<Address>(pointer);
    REQUIRE(address % options.alignment == 0);
    REQUIRE(world_.source->accessible(address, bytes));
    const std::string wrong = shadow_.take(address, bytes, stream);
    REQUIRE(wrong == "");
    blocks_.push_back({address, bytes, stream, {}});
  }

  void free_one() {
    const std::size_t at = pick(blocks_.size());
    const Block block = blocks_[at];
    blocks_[at] = blocks_.back();
    blocks_.pop_back();
    StreamId stream = block.stream;
    const bool gone = std::find(streams_.begin(), streams_.end(), stream) == streams_.end();
    if (gone || pick(4) == 0) {
      // Freed elsewhere: that its own stream used it has to be said; one that is gone has to be
      // waited for.
      stream = pick_stream();
      if (!gone) {
        REQUIRE(world_.pool.record_use(reinterpret_cast<void*>(block.address), block.stream) ==
                Misuse::none);
      } else {
        world_.timeline->finish(block.stream);
      }
    }
    shadow_.give(block.address);
    REQUIRE(world_.pool.try_deallocate(reinterpret_cast<void*>(block.address), stream,
                                       pick(2) == 0 ? 0 : block.bytes) == Misuse::none);
  }

  // A stream goes, with work in flight, and a new one comes.
  void retire() {
    const std::size_t at = pick(streams_.size());
    world_.pool.retire_stream(streams_[at]);
    world_.timeline->remove_stream(streams_[at]);
    streams_[at] = next_stream_++;
    world_.timeline->add_stream(streams_[at]);
  }

  const Plan plan_;
  World world_;
  Shadow shadow_;
  std::mt19937 random_;
  std::vector<StreamId> streams_;
  StreamId next_stream_ = 0;
  std::vector<Block> blocks_;
  std::size_t out_of_memory_ = 0;
  PoolStats outcome_;
};

}  // namespace

TEST_CASE("no byte is handed on early, with memory to spare") {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    INFO("seed " << seed);
    Program program({.config = {.capacity = 768 * kMiB}, .validated = seed == 1 ? 10'000u : 500u},
                    seed);
    program.run();
    CHECK(program.out_of_memory() == 0);
  }
}

TEST_CASE("no byte is handed on early, at the limit of the capacity") {
  PoolStats all;
  for (unsigned seed = 11; seed <= 14; ++seed) {
    INFO("seed " << seed);
    Program program({.config = {.capacity = 96 * kMiB}}, seed);
    program.run();
    merge(all, program.outcome());
  }
  // The test is worth something only if the rungs were climbed.
  CHECK(all.ladder.completed.count > 0);
  CHECK(all.ladder.steal.count > 0);
  CHECK(all.ladder.trim.count > 0);
  CHECK(all.ladder.wait.count > 0);
  CHECK(all.host_waits > 0);
}

TEST_CASE("no byte is handed on early, without buddies, slabs or either") {
  for (const auto& [slab, buddy] :
       {std::pair<std::size_t, std::size_t>{64 * kKiB, 0}, {0, kMiB}, {0, 0}, {5000, 300'000}}) {
    INFO("slab " << slab << ", buddy " << buddy);
    Program program(
        {.config = {.capacity = 128 * kMiB, .slab_max_block = slab, .buddy_max_block = buddy},
         .operations = 10'000,
         .validated = 500},
        7);
    program.run();
  }
}

TEST_CASE("no byte is handed on early on a source that has only regions") {
  for (unsigned seed = 21; seed <= 22; ++seed) {
    INFO("seed " << seed);
    Program program({.config = {.capacity = 128 * kMiB, .virtual_memory = false}}, seed);
    program.run();
  }
}

TEST_CASE("no byte is handed on early in passthrough") {
  Program program({.config = {.capacity = 96 * kMiB, .mode = PoolMode::passthrough}}, 41);
  program.run();
  CHECK(program.outcome().driver.allocate_region.count > 1000);
}

TEST_CASE("no byte is handed on early when streams come and go") {
  for (unsigned seed = 31; seed <= 32; ++seed) {
    INFO("seed " << seed);
    Program program({.config = {.capacity = 128 * kMiB}, .operations = 10'000, .retire = true},
                    seed);
    program.run();
    CHECK(program.outcome().streams.size() <= 8);
  }
}
