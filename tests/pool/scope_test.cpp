#include <string_view>
#include <thread>

#include "forebay/pool/pool.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"

using namespace forebay::pool;
using forebay::pool::test::World;

TEST_CASE("scopes nest, end, and are a thread's own") {
  CHECK(AllocationScope::current() == nullptr);
  const AllocationScope outer("outer");
  CHECK(AllocationScope::current() == std::string_view("outer"));
  {
    const AllocationScope inner("inner");
    CHECK(AllocationScope::current() == std::string_view("inner"));
    std::thread([] { CHECK(AllocationScope::current() == nullptr); }).join();
  }
  CHECK(AllocationScope::current() == std::string_view("outer"));
}

TEST_CASE("a tag of the allocation goes before that of the scope") {
  World world;
  const AllocationScope scope("scope");
  (void)world.pool.allocate(100, 1);
  (void)world.pool.allocate(200, 1, {.tag = "own"});
  world.pool.close();
  CHECK(world.logged("scope: 1 blocks, 100 bytes"));
  CHECK(world.logged("own: 1 blocks, 200 bytes"));
}
