#include "pool/guard_source.hpp"

#include "forebay/pool/simulated.hpp"
#include "pool/units.hpp"
#include "tests/support/catch.hpp"

using namespace forebay::pool;

namespace {
constexpr std::size_t kGranule = 2 * kMiB;
}

TEST_CASE("a guarded region has memory to its end and none behind it") {
  const auto inner = std::make_shared<SimulatedSource>(SimulatedSource::Options{});
  GuardSource source(inner);
  Address a = 0, b = 0;
  REQUIRE(source.allocate_region(3 * kGranule, &a).ok());
  REQUIRE(source.allocate_region(kGranule, &b).ok());
  CHECK(inner->accessible(a, 3 * kGranule));
  CHECK_FALSE(inner->accessible(a + 3 * kGranule, 1));
  CHECK_FALSE(inner->accessible(b + kGranule, 1));
  CHECK(inner->used_bytes() == 4 * kGranule);
  CHECK(inner->reservations() == 2);
  CHECK_FALSE(source.free_region(a, kGranule).ok());
  CHECK_FALSE(source.free_region(a + 1, kGranule).ok());
  CHECK_FALSE(source.allocate_region(kGranule + 1, &b).ok());
  CHECK_FALSE(source.allocate_region(0, &b).ok());
  CHECK(source.free_region(a, 3 * kGranule).ok());
  CHECK_FALSE(source.free_region(a, 3 * kGranule).ok());
  CHECK(source.free_region(b, kGranule).ok());
  CHECK(inner->used_bytes() == 0);
  CHECK(inner->reservations() == 0);
  CHECK(inner->violations().empty());
}

TEST_CASE("a guarded region that cannot be made leaves nothing behind") {
  for (const SourceCall call :
       {SourceCall::reserve, SourceCall::create, SourceCall::map, SourceCall::set_access}) {
    const auto inner = std::make_shared<SimulatedSource>(SimulatedSource::Options{});
    GuardSource source(inner);
    inner->fail(call, 1, false, Outcome::out_of_memory);
    Address address = 0;
    CHECK(source.allocate_region(kGranule, &address).outcome == Outcome::out_of_memory);
    CHECK(inner->handles() == 0);
    CHECK(inner->reservations() == 0);
    CHECK(source.allocate_region(kGranule, &address).ok());
    CHECK(inner->violations().empty());
  }
}

TEST_CASE("what is left of a guarded region that could not be made goes as soon as it can") {
  for (const SourceCall call : {SourceCall::unmap, SourceCall::release, SourceCall::unreserve}) {
    for (const bool ends : {false, true}) {
      const auto inner = std::make_shared<SimulatedSource>(SimulatedSource::Options{});
      {
        GuardSource source(inner);
        inner->fail(SourceCall::set_access, 1, false);
        inner->fail(call, 1, false);
        Address address = 0;
        CHECK_FALSE(source.allocate_region(kGranule, &address).ok());
        CHECK(inner->reservations() == 1);
        if (!ends) {
          REQUIRE(source.allocate_region(kGranule, &address).ok());
          CHECK(inner->reservations() == 1);
          CHECK(source.free_region(address, kGranule).ok());
        }
      }
      CHECK(inner->handles() == 0);
      CHECK(inner->reservations() == 0);
      CHECK(inner->violations().empty());
    }
  }
}

TEST_CASE("giving a guarded region back goes on where it failed") {
  for (const SourceCall call : {SourceCall::unmap, SourceCall::release, SourceCall::unreserve}) {
    const auto inner = std::make_shared<SimulatedSource>(SimulatedSource::Options{});
    GuardSource source(inner);
    Address address = 0;
    REQUIRE(source.allocate_region(kGranule, &address).ok());
    inner->fail(call, 1, false);
    CHECK_FALSE(source.free_region(address, kGranule).ok());
    CHECK(source.free_region(address, kGranule).ok());
    CHECK(inner->handles() == 0);
    CHECK(inner->reservations() == 0);
    CHECK(inner->violations().empty());
  }
}
