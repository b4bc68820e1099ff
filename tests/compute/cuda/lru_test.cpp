#include "compute/cuda/lru.hpp"

#include <functional>

#include "tests/support/catch.hpp"

using Map = forebay::cuda::Lru<int, int, std::hash<int>>;

TEST_CASE("the least recently used entry goes first") {
  Map map(2);
  map.insert(1, 10);
  map.insert(2, 20);
  REQUIRE(map.find(1) != nullptr);
  map.insert(3, 30);
  CHECK(map.find(2) == nullptr);
  CHECK(*map.find(1) == 10);
  CHECK(*map.find(3) == 30);
  CHECK(map.size() == 2);
}

TEST_CASE("the newest entry always stays") {
  Map map(0);
  CHECK(map.insert(1, 10) == 10);
  CHECK(map.insert(2, 20) == 20);
  CHECK(map.size() == 1);
  map.clear();
  CHECK(map.find(2) == nullptr);
}
