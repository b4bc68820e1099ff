#include "forebay/compute/shape.hpp"

#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::testing;

TEST_CASE("dims hold up to eight values and say so beyond") {
  const Dims eight{1, 2, 3, 4, 5, 6, 7, 8};
  CHECK(eight.size() == 8);
  CHECK(eight[7] == 8);
  CHECK(contains(message_of<ShapeError>([] { Dims{1, 1, 1, 1, 1, 1, 1, 1, 1}; }), "8"));
  CHECK(contains(message_of<ShapeError>([] { Dims{1, 1, 1, 1, 1, 1, 1, 1, 1}; }), "9"));
  Dims growing = eight;
  CHECK_THROWS_AS(growing.push_back(9), ShapeError);
  CHECK(growing == eight);
  CHECK(Dims{2, 3} != Dims{3, 2});
  CHECK(Dims{2} != Dims{2, 1});
  CHECK(Dims().empty());
}

TEST_CASE("shapes are written in brackets") {
  CHECK(to_string(Dims{32, 4, 84, 84}) == "[32, 4, 84, 84]");
  CHECK(to_string(Dims()) == "[]");
  CHECK(to_string(Dims{-1}) == "[-1]");
}

TEST_CASE("the number of elements is checked") {
  CHECK(checked_numel(Dims()) == 1);
  CHECK(checked_numel({32, 4, 84, 84}) == 903168);
  CHECK(checked_numel({3, 0, 5}) == 0);
  const std::int64_t huge = std::int64_t{1} << 62;
  CHECK(checked_numel({0, huge, huge}) == 0);
  CHECK(checked_numel({std::int64_t{1} << 60}) == std::int64_t{1} << 60);
  CHECK(contains(message_of<ShapeError>([] { (void)checked_numel({3, -2}); }), "[3, -2]"));
  CHECK(contains(message_of<ShapeError>([] { (void)checked_numel({0, -1}); }), "[0, -1]"));
  CHECK_THROWS_AS(checked_numel({(std::int64_t{1} << 60) + 1}), ShapeError);
  CHECK(contains(message_of<ShapeError>([] {
                   (void)checked_numel({4294967296, 4294967296, 4294967296});
                 }),
                 "[4294967296, 4294967296, 4294967296]"));
}

TEST_CASE("one axis that no int holds is named as it is") {
  CHECK(message_of<ShapeError>([] { (void)Axes(std::int64_t{1} << 40); }) ==
        "axis 1099511627776 is in no shape");
  CHECK(std::span<const int>(Axes(-2))[0] == -2);
}

TEST_CASE("row-major strides") {
  CHECK(contiguous_strides({2, 3, 4}) == Dims{12, 4, 1});
  CHECK(contiguous_strides(Dims()) == Dims());
  CHECK(contiguous_strides({2, 0, 4}) == Dims{4, 4, 1});
  const std::int64_t huge = std::int64_t{1} << 62;
  CHECK(contiguous_strides({huge, 0, huge, huge}).size() == 4);
}

TEST_CASE("shapes broadcast from the end") {
  CHECK(broadcast_shapes({3, 1, 5}, {4, 5}) == Dims{3, 4, 5});
  CHECK(broadcast_shapes(Dims(), {2, 3}) == Dims{2, 3});
  CHECK(broadcast_shapes({1}, {0}) == Dims{0});
  CHECK(broadcast_shapes({0, 3}, {1, 3}) == Dims{0, 3});
  CHECK(broadcast_shapes({2, 3}, {2, 3}) == Dims{2, 3});
  const std::string message = message_of<ShapeError>([] {
    (void)broadcast_shapes({2, 3}, {2, 4});
  });
  CHECK(contains(message, "[2, 3]"));
  CHECK(contains(message, "[2, 4]"));
  CHECK_THROWS_AS(broadcast_shapes({0}, {2}), ShapeError);
}
