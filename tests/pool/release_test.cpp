#include <csignal>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "forebay/pool/pool.hpp"
#include "pool/units.hpp"
#include "tests/pool/timeless.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/forked.hpp"

using namespace forebay;
using namespace forebay::pool;
using forebay::pool::test::timeless;
using forebay::pool::test::World;
using forebay::test::in_child;

namespace {

void* at(void* base, std::size_t offset) { return static_cast<char*>(base) + offset; }

}  // namespace

TEST_CASE("every misuse of every kind of block is told from use") {
  // A slab block, a buddy block, a span, and a span of many handles.
  for (const std::size_t bytes : {std::size_t{1000}, 200 * kKiB, 3 * kMiB, 20 * kMiB}) {
    INFO("block of " << bytes);
    World world;
    void* guard = world.pool.allocate(bytes, 1);
    void* block = world.pool.allocate(bytes, 1);
    CHECK(world.pool.try_deallocate(at(block, 256), 1) == Misuse::interior_pointer);
    CHECK(world.pool.try_deallocate(at(block, 1), 1) == Misuse::interior_pointer);
    CHECK(world.pool.try_deallocate(at(block, bytes - 1), 1) == Misuse::interior_pointer);
    CHECK(world.pool.try_deallocate(block, 1, bytes - 1) == Misuse::size_mismatch);
    CHECK(world.pool.try_deallocate(block, 99) == Misuse::wrong_device);
    int host = 0;
    CHECK(world.pool.try_deallocate(&host, 1) == Misuse::foreign_pointer);
    CHECK(world.pool.record_use(&host, 1) == Misuse::foreign_pointer);
    CHECK(world.pool.record_use(at(block, 1), 1) == Misuse::interior_pointer);
    CHECK(world.pool.record_use(block, 99) == Misuse::wrong_device);
    // None of that did anything.
    CHECK(world.pool.stats().allocations.live == 2);
    CHECK(world.sound());
    CHECK(world.pool.try_deallocate(block, 1, bytes) == Misuse::none);
    CHECK(world.pool.try_deallocate(block, 1, bytes) == Misuse::double_free);
    CHECK(world.pool.record_use(block, 1) == Misuse::double_free);
    CHECK(world.pool.try_deallocate(guard, 1) == Misuse::none);
    CHECK(world.pool.try_deallocate(guard, 1) == Misuse::double_free);
    const ErrorStats errors = world.pool.stats().errors;
    CHECK(errors.double_free == 3);
    CHECK(errors.interior_pointer == 4);
    CHECK(errors.size_mismatch == 1);
    CHECK(errors.wrong_device == 2);
    CHECK(errors.foreign_pointer == 2);
    CHECK(world.sound());
    world.pool.close();
    CHECK(world.pool.try_deallocate(block, 1) == Misuse::pool_closed);
    CHECK(world.pool.record_use(block, 1) == Misuse::pool_closed);
    CHECK(world.pool.stats().errors.pool_closed == 2);
  }
}

TEST_CASE("a double free is seen until the address is handed out again") {
  // Also after a free by another stream, after the page has gone, and after everything was
  // unmapped.
  for (const std::size_t bytes : {std::size_t{300}, 100 * kKiB, 2 * kMiB}) {
    INFO("block of " << bytes);
    World world;
    void* block = world.pool.allocate(bytes, 1);
    CHECK(world.pool.record_use(block, 2) == Misuse::none);
    CHECK(world.pool.try_deallocate(block, 2) == Misuse::none);
    CHECK(world.pool.try_deallocate(block, 1) == Misuse::double_free);
    world.timeline->run_all();
    world.pool.trim();
    CHECK(world.pool.stats().held.current == 0);
    CHECK(world.pool.try_deallocate(block, 1) == Misuse::double_free);
    // Handed out again as the inside of a larger block, it is an interior pointer.
    void* larger = world.pool.allocate(32 * kMiB, 1);
    if (block > larger && block < at(larger, 32 * kMiB)) {
      CHECK(world.pool.try_deallocate(block, 1) == Misuse::interior_pointer);
    } else {
      CHECK(world.pool.try_deallocate(larger, 1) == Misuse::none);
      CHECK(world.pool.allocate(bytes, 1) == block);
    }
    CHECK(world.pool.stats().allocations.live == 1);
  }
}

TEST_CASE("misuse is logged, or goes to the handler with its pointer") {
  World world;
  void* block = world.pool.allocate(1000, 1);
  world.pool.deallocate(block, 1);
  world.pool.deallocate(block, 1);
  CHECK(world.logged("double free at"));
  std::vector<Misuse> seen;
  const void* pointer = nullptr;
  world.pool.set_misuse_handler([&](Misuse misuse, const void* where, std::string_view line) {
    seen.push_back(misuse);
    pointer = where;
    CHECK(line.find("stream 1") != std::string_view::npos);
  });
  const std::size_t lines = world.log->size();
  world.pool.deallocate(block, 1);
  CHECK(seen == std::vector{Misuse::double_free});
  CHECK(pointer == block);
  CHECK(world.log->size() == lines);
  CHECK(world.pool.stats().errors.double_free == 2);
}

TEST_CASE("where misuse aborts, the program ends with the line that says what was wrong") {
  using Wrong = std::function<void(Pool&, void*)>;
  const std::vector<std::pair<std::string, Wrong>> wrongs{
      {"double free at",
       [](Pool& pool, void* block) {
         pool.deallocate(block, 1);
         pool.deallocate(block, 1);
       }},
      {"interior pointer at", [](Pool& pool, void* block) { pool.deallocate(at(block, 512), 1); }},
      {"size mismatch at", [](Pool& pool, void* block) { pool.deallocate(block, 1, 5); }}};
  for (const auto& [line, wrong] : wrongs) {
    for (const MisusePolicy policy : {MisusePolicy::log, MisusePolicy::abort}) {
      INFO(line);
      const forebay::test::Ended ended = in_child([&, &wrong = wrong] {
        World world(World::Config{.on_misuse = policy});
        void* block = world.pool.allocate(3 * kMiB, 1);
        // What is only counted and returned ends nothing.
        if (world.pool.try_deallocate(at(block, 512), 1) != Misuse::interior_pointer) return 1;
        world.pool.set_misuse_handler([](Misuse, const void*, std::string_view text) {
          std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
        });
        wrong(world.pool, block);
        return 7;
      });
      CHECK(ended.code == (policy == MisusePolicy::abort ? 128 + SIGABRT : 7));
      CHECK(ended.err.find(line) != std::string::npos);
    }
  }
}

TEST_CASE("a block that several streams use is free after all of them") {
  for (const std::size_t bytes : {std::size_t{1000}, 200 * kKiB, 3 * kMiB}) {
    INFO("block of " << bytes);
    World world;
    void* block = world.pool.allocate(bytes, 1);
    world.timeline->work(1);
    for (const StreamId stream : {2, 3}) {
      world.timeline->work(stream);
      CHECK(world.pool.record_use(block, stream) == Misuse::none);
      CHECK(world.pool.record_use(block, stream) == Misuse::none);
    }
    CHECK(world.pool.try_deallocate(block, 1) == Misuse::none);
    CHECK(world.pool.stats().pending.current >= bytes);
    CHECK(world.sound());
    // Not even the stream that freed it gets it while the others may use it.
    void* other = world.pool.allocate(bytes, 1);
    CHECK(other != block);
    world.timeline->run(2);
    CHECK(world.pool.allocate(bytes, 2) != block);
    world.timeline->run_all();
    CHECK_THROWS_AS(world.pool.allocate(world.pool.config().capacity, 4), OutOfMemory);
    CHECK(world.pool.stats().pending.current == 0);
    CHECK(world.timeline->ordered(4, 3, 1));
    CHECK(world.sound());
  }
}

TEST_CASE("a record that stands for another stream now is no use of that stream") {
  World world;
  void* block = world.pool.allocate(3 * kMiB, 1);
  REQUIRE(world.pool.record_use(block, 2) == Misuse::none);
  REQUIRE(world.pool.retire_stream(2));
  world.timeline->run_all();
  world.pool.trim();
  // Stream 3 takes the record of stream 2.
  world.timeline->work(3);
  CHECK(world.pool.try_deallocate(block, 3) == Misuse::none);
  void* other = world.pool.allocate(3 * kMiB, 4);
  CHECK(other != block);
  world.timeline->run_all();
  CHECK(world.pool.allocate(3 * kMiB, 4) == block);
  CHECK(world.sound());
}

TEST_CASE("a block that many short-lived streams used depends on few of them") {
  World world(World::Config{.streams = 400});
  void* block = world.pool.allocate(3 * kMiB, 1);
  for (StreamId stream = 2; stream <= 400; ++stream) {
    REQUIRE(world.pool.record_use(block, stream) == Misuse::none);
    REQUIRE(world.pool.retire_stream(stream));
    world.timeline->run_all();
  }
  const Count waits = world.pool.stats().timeline.queries;
  CHECK(world.pool.try_deallocate(block, 1) == Misuse::none);
  CHECK(world.pool.allocate(3 * kMiB, 1) != block);
  world.timeline->run_all();
  CHECK(world.pool.allocate(3 * kMiB, 1) == block);
  CHECK(world.pool.stats().timeline.queries - waits < 10);
  CHECK(world.sound());
}

TEST_CASE("a foreign pointer is told at once, wherever it points") {
  for (const bool virtual_memory : {true, false}) {
    World world(World::Config{.virtual_memory = virtual_memory});
    REQUIRE(world.pool.allocate(3 * kMiB, 1) != nullptr);
    for (const std::uintptr_t address :
         {~std::uintptr_t{0}, ~std::uintptr_t{511}, std::uintptr_t{512}, std::uintptr_t{1} << 60}) {
      void* pointer = reinterpret_cast<void*>(address);
      CHECK(world.pool.try_deallocate(pointer, 1) == Misuse::foreign_pointer);
      CHECK(world.pool.record_use(pointer, 1) == Misuse::foreign_pointer);
    }
  }
}

TEST_CASE("a failed free changes nothing") {
  World world;
  void* block = world.pool.allocate(3 * kMiB, 1);
  const std::string before = to_json(timeless(world.pool.stats())).substr(0, 630);
  (void)world.pool.try_deallocate(block, 1, 1);
  CHECK(to_json(timeless(world.pool.stats())).substr(0, 630) == before);
}
