#include "compute/strides.hpp"

#include <algorithm>
#include <random>

#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::compute;
using namespace forebay::testing;

namespace {

// The offsets that a leaf has at each element of a space, in order.
std::vector<std::int64_t> offsets(const Dims& extents, const Dims& strides) {
  std::vector<std::int64_t> result{0};
  for (std::size_t d = 0; d < extents.size(); ++d) {
    std::vector<std::int64_t> next;
    for (const std::int64_t base : result) {
      for (std::int64_t i = 0; i < extents[d]; ++i) next.push_back(base + i * strides[d]);
    }
    result = std::move(next);
  }
  return result;
}

// For each element of a space, whether its neighbours along reduced dimensions belong to one sum:
// the number of the result that it adds to.
std::vector<std::int64_t> results(const Dims& extents, std::uint8_t reduced) {
  Dims strides = extents;
  std::int64_t stride = 1;
  for (std::size_t d = extents.size(); d-- > 0;) {
    const bool is_reduced = ((reduced >> d) & 1) != 0;
    strides[d] = is_reduced ? 0 : stride;
    if (!is_reduced) stride *= extents[d];
  }
  return offsets(extents, strides);
}

}  // namespace

TEST_CASE("broadcasting repeats by strides of zero") {
  CHECK(broadcast_strides({3, 1}, {1, 1}, {2, 3, 4}) == Dims{0, 1, 0});
  CHECK(broadcast_strides(Dims(), Dims(), {2, 3}) == Dims{0, 0});
  CHECK(broadcast_strides({2, 3}, {3, 1}, {2, 3}) == Dims{3, 1});
}

TEST_CASE("what does not broadcast to a shape is named with both") {
  CHECK_NOTHROW(compute::require_broadcast("x", {3, 1}, {2, 3, 4}));
  CHECK_NOTHROW(compute::require_broadcast("x", {}, {0}));
  for (const auto& [shape, target] :
       std::vector<std::pair<Dims, Dims>>{{{2}, {3}}, {{3, 1}, {3}}, {{2}, {1}}, {{1, 1}, {1}}}) {
    CHECK(message_of<ShapeError>([&] { compute::require_broadcast("x: it", shape, target); }) ==
          "x: it of shape " + to_string(shape) + " does not broadcast to " + to_string(target));
  }
}

TEST_CASE("elements of a view that may share memory are found, and parts of tensors never are") {
  CHECK(may_overlap({2, 3}, {0, 1}));
  CHECK(may_overlap({3, 2}, {1, 1}));
  CHECK(may_overlap({3, 2}, {-2, 2}));
  CHECK(may_overlap({4, 3, 2}, {3, 1, 2}));
  CHECK_FALSE(may_overlap({0, 3}, {0, 0}));
  CHECK_FALSE(may_overlap({1, 3}, {0, 1}));
  CHECK_FALSE(may_overlap(Dims(), Dims()));
  CHECK_FALSE(may_overlap({2, 2}, {INT64_MIN, 1}));
  std::mt19937_64 random(11);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  for (int round = 0; round < 2000; ++round) {
    Dims shape;
    for (std::int64_t d = below(kMaxRank + 1); d > 0; --d) shape.push_back(1 + below(4));
    Dims strides = contiguous_strides(shape);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const std::int64_t step = 1 + below(shape[d]);
      shape[d] = 1 + (shape[d] - 1) / step;
      strides[d] *= below(2) == 0 ? step : -step;
      const auto other = static_cast<std::size_t>(below(static_cast<std::int64_t>(d) + 1));
      std::swap(shape[d], shape[other]);
      std::swap(strides[d], strides[other]);
    }
    INFO(to_string(shape) << " by " << to_string(strides));
    REQUIRE_FALSE(may_overlap(shape, strides));
    // Of strides at random, those that are let through keep elements apart.
    for (std::size_t d = 0; d < shape.size(); ++d) strides[d] = below(30) - 15;
    std::vector<std::int64_t> all = offsets(shape, strides);
    std::sort(all.begin(), all.end());
    const bool apart = std::adjacent_find(all.begin(), all.end()) == all.end();
    REQUIRE((apart || may_overlap(shape, strides)));
  }
}

TEST_CASE("a space collapses as far as its leaves allow") {
  SECTION("contiguous leaves leave one dimension") {
    const Collapsed space = collapse({2, 3, 4}, 0, {});
    CHECK(space.extents == Dims{24});
  }
  SECTION("a row repeated over a matrix keeps two") {
    std::vector<Dims> strides{{0, 0, 1}};
    const Collapsed space = collapse({2, 3, 4}, 0, strides);
    CHECK(space.extents == Dims{6, 4});
    CHECK(strides[0] == Dims{0, 1});
  }
  SECTION("kept and reduced neighbours stay apart") {
    const Collapsed space = collapse({2, 3, 4, 5}, 0b0110, {});
    CHECK(space.extents == Dims{2, 12, 5});
    CHECK(space.reduced_dims == 0b010);
  }
  SECTION("dimensions of one element vanish") {
    std::vector<Dims> strides{{7, 1, 9, 3}};
    const Collapsed space = collapse({1, 3, 1, 2}, 0b0001, strides);
    CHECK(space.extents == Dims{3, 2});
    CHECK(space.reduced_dims == 0);
    CHECK(strides[0] == Dims{1, 3});
  }
  SECTION("one element stays one dimension") {
    std::vector<Dims> strides{{4, 4}};
    CHECK(collapse({1, 1}, 0, strides).extents == Dims{1});
    CHECK(strides[0] == Dims{0});
  }
}

TEST_CASE("collapsing changes neither what a leaf reads nor what a sum takes") {
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) { return static_cast<std::int64_t>(random() % n); };
  for (int round = 0; round < 500; ++round) {
    Dims shape;
    for (std::int64_t d = below(6); d >= 0; --d) shape.push_back(1 + below(3));
    const auto reduced = static_cast<std::uint8_t>(random() % (1U << shape.size()));
    std::vector<Dims> strides(static_cast<std::size_t>(below(3)));
    for (Dims& s : strides) {
      s = contiguous_strides(shape);
      if (below(2) == 0) s[static_cast<std::size_t>(below(shape.size()))] = 0;
      if (below(3) == 0) std::swap(s[0], s[shape.size() - 1]);
    }
    const std::vector<Dims> before = strides;
    const Collapsed space = collapse(shape, reduced, strides);
    REQUIRE(space.extents.size() >= 1);
    REQUIRE(checked_numel(space.extents) == checked_numel(shape));
    for (std::size_t i = 0; i < strides.size(); ++i) {
      REQUIRE(offsets(space.extents, strides[i]) == offsets(shape, before[i]));
    }
    REQUIRE(results(space.extents, space.reduced_dims) == results(shape, reduced));
  }
}
