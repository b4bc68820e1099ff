#include "tests/support/source_contract.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "forebay/pool/pool.hpp"
#include "tests/support/catch.hpp"

namespace forebay::test {
namespace {

using pool::Address;
using pool::Handle;
using pool::MemorySource;
using pool::Outcome;

struct Range {
  Address begin = 0;
  std::size_t bytes = 0;
};

void regions_lie_apart(MemorySource& source) {
  const std::size_t unit = source.traits().granularity;
  std::vector<Range> regions;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{1000}, unit, unit, 3 * unit + 257}) {
    Address begin = 0;
    REQUIRE(source.allocate_region(bytes, &begin).ok());
    CHECK(begin % pool::kMinAlignment == 0);
    for (const Range& other : regions) {
      CHECK((begin + bytes <= other.begin || other.begin + other.bytes <= begin));
    }
    regions.push_back({begin, bytes});
  }
  for (const Range& region : regions) {
    CHECK(source.free_region(region.begin, region.bytes).ok());
  }
}

void what_is_no_region_is_not_freed(MemorySource& source) {
  CHECK(source.free_region(Address{1} << 40, 4096).outcome == Outcome::failed);
}

void more_than_there_is_runs_out(MemorySource& source) {
  const std::size_t unit = source.traits().granularity;
  const std::size_t much = source.traits().total / unit * unit * 2;
  Address region = 0;
  CHECK(source.allocate_region(much, &region).outcome == Outcome::out_of_memory);
  if (!source.traits().virtual_memory) {
    return;
  }
  Handle handle = 0;
  CHECK(source.create(much, &handle).outcome == Outcome::out_of_memory);
}

void mapping_is_refused(MemorySource& source) {
  const std::size_t unit = source.traits().granularity;
  Address address = 0;
  Handle handle = 0;
  CHECK(source.reserve(unit, &address).outcome == Outcome::failed);
  CHECK(source.create(unit, &handle).outcome == Outcome::failed);
  CHECK(source.map(unit, unit, 1).outcome == Outcome::failed);
  CHECK(source.set_access(unit, unit).outcome == Outcome::failed);
  CHECK(source.unmap(unit, unit).outcome == Outcome::failed);
  CHECK(source.release(1, unit).outcome == Outcome::failed);
  CHECK(source.unreserve(unit, unit).outcome == Outcome::failed);
}

void handles_are_mapped_whole_and_move(MemorySource& source) {
  const std::size_t unit = source.traits().granularity;
  Address range = 0;
  std::array<Handle, 2> handles{};
  REQUIRE(source.reserve(8 * unit, &range).ok());
  CHECK(range % unit == 0);
  REQUIRE(source.create(2 * unit, &handles[0]).ok());
  REQUIRE(source.create(unit, &handles[1]).ok());
  CHECK(handles[0] != 0);
  CHECK(handles[0] != handles[1]);
  CHECK_FALSE(source.map(range, unit, handles[0]).ok());      // a part
  CHECK_FALSE(source.map(range, 3 * unit, handles[0]).ok());  // more than there is
  REQUIRE(source.map(range, 2 * unit, handles[0]).ok());
  CHECK_FALSE(source.map(range + unit, unit, handles[1]).ok());  // over another
  REQUIRE(source.map(range + 2 * unit, unit, handles[1]).ok());
  REQUIRE(source.set_access(range, 3 * unit).ok());      // of neighbours at once
  CHECK_FALSE(source.set_access(range, 4 * unit).ok());  // beyond what is mapped
  CHECK_FALSE(source.unmap(range + unit, unit).ok());    // a part
  REQUIRE(source.unmap(range, 2 * unit).ok());
  REQUIRE(source.map(range + 5 * unit, 2 * unit, handles[0]).ok());
  REQUIRE(source.set_access(range + 5 * unit, 2 * unit).ok());
  CHECK(source.unmap(range + 5 * unit, 2 * unit).ok());
  CHECK(source.unmap(range + 2 * unit, unit).ok());
  CHECK(source.release(handles[0], 2 * unit).ok());
  CHECK(source.release(handles[1], unit).ok());
  CHECK(source.unreserve(range, 8 * unit).ok());
}

}  // namespace

void keeps_source_contract(MemorySource& source, bool bounded) {
  const pool::SourceTraits traits = source.traits();
  CHECK_FALSE(traits.name.empty());
  CHECK(traits.granularity >= pool::kSpanUnit);
  CHECK((traits.granularity & (traits.granularity - 1)) == 0);
  CHECK(traits.total > 0);
  CHECK(source.free_bytes() <= traits.total);
  regions_lie_apart(source);
  what_is_no_region_is_not_freed(source);
  if (bounded) {
    more_than_there_is_runs_out(source);
  }
  if (traits.virtual_memory) {
    handles_are_mapped_whole_and_move(source);
  } else {
    mapping_is_refused(source);
  }
}

}  // namespace forebay::test
