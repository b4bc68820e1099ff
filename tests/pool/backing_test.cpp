#include "pool/backing.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "forebay/pool/simulated.hpp"
#include "pool/units.hpp"
#include "tests/support/catch.hpp"

using namespace forebay::pool;

namespace {

struct BackingBench {
  explicit BackingBench(std::size_t capacity = 16 * kMiB, std::size_t handle = 4 * kMiB)
      : metered(source), backing(metered, capacity, handle) {
    metered.reserve(256 * kMiB, &base);
  }
  SourceResult map(std::size_t at, std::size_t bytes) {
    std::vector<Backing::Made> nodes;
    const SourceResult result = backing.map(base + at, bytes, nodes);
    made.clear();
    for (Backing::Made& node : nodes) made.push_back(backing.add(std::move(node)));
    return result;
  }
  bool sound() {
    CHECK(backing.validate() == "");
    CHECK(source.violations().empty());
    CHECK(backing.held().current() == source.used_bytes());
    return true;
  }
  SimulatedSource source{SimulatedSource::Options{}};
  MeteredSource metered;
  Backing backing;
  Address base = 0;
  std::vector<Mapping> made;
};

}  // namespace

TEST_CASE("handles have the wanted size, and the last one what is left") {
  BackingBench bench(14 * kMiB);
  REQUIRE(bench.map(0, 8 * kMiB).ok());
  CHECK(bench.made.size() == 2);
  CHECK(bench.source.calls(SourceCall::set_access) == 1);
  CHECK(bench.backing.mapped().current() == 8 * kMiB);
  REQUIRE(bench.map(8 * kMiB, 6 * kMiB).ok());
  CHECK(bench.backing.held().current() == 14 * kMiB);
  CHECK(bench.backing.missing(2 * kMiB) == 2 * kMiB);
  bench.sound();
}

TEST_CASE("an idle handle is used before a new one, and one that does not fit gives way") {
  BackingBench bench(8 * kMiB);
  REQUIRE(bench.map(0, 8 * kMiB).ok());
  const std::vector<Mapping> first = bench.made;
  for (const Mapping& mapping : first) {
    REQUIRE(bench.backing.unmap(mapping).ok());
    bench.backing.remove(mapping);
  }
  CHECK(bench.backing.idle().current() == 8 * kMiB);
  REQUIRE(bench.map(64 * kMiB, 4 * kMiB).ok());
  CHECK(bench.source.calls(SourceCall::create) == 2);
  // Only 2 MiB of room: the idle handle of 4 MiB is released for one that fits.
  REQUIRE(bench.map(128 * kMiB, 2 * kMiB).ok());
  CHECK(bench.source.calls(SourceCall::create) == 3);
  CHECK(bench.source.calls(SourceCall::release) == 1);
  bench.sound();
}

TEST_CASE("every call of a mapping may fail, and no handle is lost") {
  for (const SourceCall call :
       {SourceCall::create, SourceCall::map, SourceCall::set_access, SourceCall::unmap}) {
    for (std::uint64_t nth = 1; nth <= 3; ++nth) {
      INFO("call " << static_cast<int>(call) << ", nth " << nth);
      BackingBench bench;
      bench.source.fail(call, nth, false);
      if (call == SourceCall::unmap) bench.source.fail(SourceCall::set_access, 1, false);
      const SourceResult result = bench.map(0, 12 * kMiB);
      bench.sound();
      CHECK(result.ok() == (call == SourceCall::set_access && nth > 1));
      if (!result.ok()) {
        // What could not be undone is mapped still, and known.
        CHECK(bench.made.size() == (call == SourceCall::unmap ? 1 : 0));
        CHECK(bench.source.mappings() == bench.made.size());
        CHECK_FALSE(bench.backing.last_failure().empty());
      }
      bench.source.fail(call, 0, false);
      const std::vector<Mapping> left = bench.made;
      for (const Mapping& mapping : left) {
        REQUIRE(bench.backing.unmap(mapping).ok());
        bench.backing.remove(mapping);
      }
      bench.backing.release_idle(0);
      CHECK(bench.source.handles() == 0);
      bench.sound();
    }
  }
}

TEST_CASE("a handle that cannot be released stays, and the others go") {
  BackingBench bench;
  REQUIRE(bench.map(0, 16 * kMiB).ok());
  const std::vector<Mapping> all = bench.made;
  for (const Mapping& mapping : all) {
    REQUIRE(bench.backing.unmap(mapping).ok());
    bench.backing.remove(mapping);
  }
  bench.source.fail(SourceCall::release, 2, false);
  CHECK(bench.backing.release_idle(0) == 12 * kMiB);
  CHECK(bench.backing.held().current() == 4 * kMiB);
  bench.sound();
  CHECK(bench.backing.release_idle(0) == 4 * kMiB);
}

TEST_CASE("the last mapping inside a range is found") {
  BackingBench bench;
  REQUIRE(bench.map(0, 16 * kMiB).ok());
  const auto inside = [&](std::size_t begin, std::size_t end) {
    const Mapping* mapping = bench.backing.last_inside(bench.base + begin, bench.base + end);
    return mapping == nullptr ? -1 : static_cast<int>((mapping->address - bench.base) / kMiB);
  };
  CHECK(inside(0, 16 * kMiB) == 12);
  CHECK(inside(0, 15 * kMiB) == 8);
  CHECK(inside(1 * kMiB, 8 * kMiB) == 4);
  CHECK(inside(1 * kMiB, 7 * kMiB) == -1);
}

TEST_CASE("regions are asked for with slack only where the source aligns too little") {
  SimulatedSource source(
      SimulatedSource::Options{.virtual_memory = false, .region_alignment = 64 * kKiB});
  MeteredSource metered(source);
  Backing backing(metered, 64 * kMiB, 2 * kMiB);
  Backing::Made made;
  REQUIRE(backing.allocate_region(100 * kKiB, 64 * kKiB, made).ok());
  CHECK(made.mapped().bytes == 2 * kMiB);
  REQUIRE(backing.allocate_region(8 * kMiB, 16 * kMiB, made).ok());
  const Mapping second = made.mapped();
  CHECK(round_up(second.address, 16 * kMiB) + 8 * kMiB <= second.address + second.bytes);
  CHECK(backing.held().current() == source.used_bytes());
  CHECK(source.violations().empty());
}
