#include "forebay/compute/math.hpp"
#include "forebay/compute/shaping.hpp"
#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::testing;

using V = std::vector<float>;

TEST_CASE("index_select along every axis") {
  const Host host;
  const Tensor t = counting(host, {3, 4, 2}).eval();
  const Tensor index = host.i32({2, 0, 2});
  for (int axis = 0; axis < 3; ++axis) {
    const Tensor some = axis == 2 ? host.i32({1, 0, 1}) : index;
    const Tensor got = index_select(t, axis, some);
    Dims shape = t.shape();
    shape[static_cast<std::size_t>(axis)] = 3;
    REQUIRE(got.shape() == shape);
    const auto which = some.to_host<std::int32_t>();
    for (std::int64_t j = 0; j < 3; ++j) {
      CHECK(narrow(got, axis, j, 1).to_host<float>() ==
            narrow(t, axis, which[static_cast<std::size_t>(j)], 1).to_host<float>());
    }
  }
  CHECK(index_select(t, 0, host.i32({})).shape() == Dims{0, 4, 2});
  CHECK(index_select(flip(t, 0), 0, host.i32({0})).to_host<float>()[0] == 16);
}

TEST_CASE("elements of every size are picked") {
  const Host host;
  for (const DType type : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32,
                           DType::u8, DType::boolean}) {
    const Tensor t = host.f32({0, 1, 1, 0}).to(type);
    CHECK(index_select(t, 0, host.i32({1, 3, 2})).to(DType::f32).to_host<float>() == V{1, 0, 1});
  }
}

TEST_CASE("gather takes an index for each element") {
  const Host host;
  const Tensor t = counting(host, {3, 4}).eval();
  CHECK(gather(t, 1, host.i32({3, 0, 1, 1}, {2, 2})).to_host<float>() == V{3, 0, 5, 5});
  CHECK(gather(t, 0, host.i32({2, 1, 0, 0}, {1, 4})).to_host<float>() == V{8, 5, 2, 3});
  CHECK(gather(t, 0, host.i32({0, 1, 2, 0, 1, 2}, {6, 1})).to_host<float>() == V{0, 4, 8, 0, 4, 8});
  // The column of each row's largest element.
  const std::vector<int> last{1};
  CHECK(gather(t, 1, t.argmax(last, true)).to_host<float>() == V{3, 7, 11});
}

TEST_CASE("a tensor without dimensions is picked from as one element") {
  const Host host;
  const Tensor seven = host.f32({7}, {});
  CHECK(gather(seven, 0, host.i32({0}, {})).shape() == Dims());
  CHECK(gather(seven, -1, host.i32({0}, {})).to_host<float>() == V{7});
  CHECK(index_select(seven, 0, host.i32({0})).shape() == Dims());
  CHECK(index_select(seven, 0, host.i32({0})).item<float>() == 7);
  CHECK_THROWS_AS(index_select(seven, 0, host.i32({0, 0})), ShapeError);
  CHECK_THROWS_AS(index_select(seven, 1, host.i32({0})), ShapeError);
  CHECK_THROWS_AS(gather(seven, 0, host.i32({1}, {})), ShapeError);
  CHECK_THROWS_AS(gather(seven, 0, host.i32({0}, {1})), ShapeError);
}

TEST_CASE("indices outside and of other kinds are refused") {
  const Host host;
  const Tensor t = counting(host, {3, 4}).eval();
  CHECK(message_of<ShapeError>([&] {
          (void)index_select(t, 0, host.i32({0, 3}));
        }) == "index_select: index 3, element 1 of [2], is outside of axis 0 of shape [3, 4]");
  CHECK(message_of<ShapeError>([&] {
          (void)gather(t, 1, host.i32({0, 1, -1, 9}, {2, 2}));
        }) == "gather: index -1, element 2 of [2, 2], is outside of axis 1 of shape [3, 4]");
  CHECK_THROWS_AS(index_select(t, 1, host.i32({-1})), ShapeError);
  CHECK_THROWS_AS(index_select(t, 0, host.f32({0})), ShapeError);
  CHECK_THROWS_AS(index_select(t, 0, host.i32({0}, {1, 1})), ShapeError);
  CHECK(contains(message_of<ShapeError>([&] {
                   (void)gather(t, 1, host.i32({0, 0, 0, 0}, {4, 1}));
                 }),
                 "[4, 1] does not fit shape [3, 4]"));
  CHECK_THROWS_AS(gather(t, 0, host.i32({0})), ShapeError);
}
