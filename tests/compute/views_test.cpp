#include "forebay/compute/in_place.hpp"
#include "forebay/compute/shaping.hpp"
#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::testing;

TEST_CASE("reshaping keeps the elements and shares their storage") {
  const Host host;
  const Tensor t = counting(host, {2, 3, 4});
  CHECK(t.reshape({6, 4}).shape() == Dims{6, 4});
  CHECK(t.reshape({6, -1}).shape() == Dims{6, 4});
  CHECK(t.reshape({-1}).shape() == Dims{24});
  CHECK(t.reshape({24}).data() == t.data());
  CHECK(host.f32({5}).reshape(Dims()).item() == 5);
  CHECK(t.transpose(0, 2).reshape({24}).to_host<float>()[1] == 12);
  CHECK(zeros({0, 3}, host.device).reshape({3, 0}).shape() == Dims{3, 0});
  CHECK(full({2, 2}, 5.0F, host.device).reshape({4}).to_host<float>() ==
        std::vector<float>(4, 5.0F));
  CHECK((t + 1.0).reshape({24}).to_host<float>()[23] == 24);
}

TEST_CASE("reshaping names both shapes when they do not fit") {
  const Host host;
  const Tensor t = counting(host, {2, 3});
  const std::string message = message_of<ShapeError>([&] { (void)t.reshape({4, 2}); });
  CHECK(contains(message, "[2, 3]"));
  CHECK(contains(message, "[4, 2]"));
  CHECK(contains(message_of<ShapeError>([&] { (void)t.reshape({-1, 4}); }), "[-1, 4]"));
  CHECK_THROWS_AS(t.reshape({-1, -1}), ShapeError);
  CHECK_THROWS_AS(t.reshape({-2, -3}), ShapeError);
  CHECK_THROWS_AS(zeros({0, 3}, host.device).reshape({-1, 0}), ShapeError);
}

TEST_CASE("transposing exchanges two dimensions") {
  const Host host;
  const Tensor t = counting(host, {2, 3, 4});
  CHECK(t.transpose().shape() == Dims{2, 4, 3});
  CHECK(t.transpose(0, -1).shape() == Dims{4, 3, 2});
  const auto turned = t.transpose(0, 2).to_host<float>();
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 2; ++k) {
        CHECK(turned[static_cast<std::size_t>((i * 3 + j) * 2 + k)] ==
              static_cast<float>((k * 3 + j) * 4 + i));
      }
    }
  }
  CHECK(t.transpose(1, 1).to_host<float>() == t.to_host<float>());
  CHECK(t.transpose(0, 2).transpose(0, 2).to_host<float>() == t.to_host<float>());
  CHECK(full({2, 3}, 1.0F, host.device).transpose().shape() == Dims{3, 2});
  CHECK(contains(message_of<ShapeError>([&] { (void)t.transpose(0, 3); }), "[2, 3, 4]"));
  CHECK_THROWS_AS(t.transpose(-4, 0), ShapeError);
  CHECK_THROWS_AS(host.f32({1, 2}).transpose(), ShapeError);
  // Without dimensions there is one to exchange with itself.
  CHECK(host.f32({7}, {}).transpose(0, -1).to_host<float>() == std::vector<float>{7});
  CHECK(host.f32({7}, {}).transpose(0, 0).shape() == Dims());
  CHECK_THROWS_AS(host.f32({7}, {}).transpose(0, 1), ShapeError);
}

TEST_CASE("whether reshaping shares memory does not depend on what was evaluated") {
  const Host host;
  for (const bool evaluated : {false, true}) {
    for (const bool turned : {false, true}) {
      const Tensor v = turned ? zeros({2, 3}, host.device).transpose()
                              : narrow(zeros({3, 4}, host.device), 1, 1, 2);
      if (evaluated) v.eval();
      fill_(v.reshape({6}), 5.0F);
      CHECK(v.to_host<float>() == std::vector<float>(6, 0));
      fill_(v, 4.0F);
      CHECK(v.to_host<float>() == std::vector<float>(6, 4));
    }
  }
}

TEST_CASE("broadcasting repeats without memory") {
  const Host host;
  const Tensor row = host.f32({1, 2, 3});
  const auto before = host.device.pool().stats().allocations.total;
  const Tensor matrix = row.broadcast_to({2, 3});
  CHECK(host.device.pool().stats().allocations.total == before);
  CHECK(matrix.to_host<float>() == std::vector<float>{1, 2, 3, 1, 2, 3});
  CHECK(row.reshape({3, 1}).broadcast_to({3, 2}).to_host<float>() ==
        std::vector<float>{1, 1, 2, 2, 3, 3});
  CHECK(host.f32({7}, Dims()).broadcast_to({2, 2}).to_host<float>() == std::vector<float>(4, 7.0F));
  CHECK(row.broadcast_to({0, 3}).to_host<float>().empty());
  const std::string message = message_of<ShapeError>([&] { (void)row.broadcast_to({3, 2}); });
  CHECK(contains(message, "[3]"));
  CHECK(contains(message, "[3, 2]"));
  CHECK_THROWS_AS(matrix.broadcast_to({3}), ShapeError);
  CHECK_THROWS_AS(host.f32({1}).broadcast_to({-1}), ShapeError);
}

TEST_CASE("views of views of every kind read the right elements") {
  const Host host;
  const Tensor t = counting(host, {3, 4});
  // x = f(x, x^T) through partly overlapping reads of one storage.
  const Tensor square = counting(host, {50, 50});
  const auto sum = (square + square.transpose()).to_host<float>();
  for (std::size_t i = 0; i < 50; ++i) {
    for (std::size_t j = 0; j < 50; ++j) {
      REQUIRE(sum[i * 50 + j] == static_cast<float>((i * 50 + j) + (j * 50 + i)));
    }
  }
  const Tensor v = t.transpose().broadcast_to({2, 4, 3}).transpose(0, 2);
  CHECK(v.shape() == Dims{3, 4, 2});
  const auto elements = v.to_host<float>();
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      CHECK(elements[(i * 4 + j) * 2] == static_cast<float>(i * 4 + j));
      CHECK(elements[(i * 4 + j) * 2 + 1] == static_cast<float>(i * 4 + j));
    }
  }
}
