#include "forebay/nn/layers.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "forebay/runtime/runtime.hpp"
#include "tests/nn/reference.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using forebay::testing::Reference;

namespace {

Reference reference_of(const Tensor& tensor) {
  const std::vector<float> values = tensor.to_host<float>();
  return {tensor.shape(), std::vector<double>(values.begin(), values.end())};
}

void check_equal(const Tensor& tensor, const Reference& expected) {
  REQUIRE(tensor.shape() == expected.shape);
  const std::vector<float> values = tensor.to_host<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    CHECK(values[i] == Approx(expected.data[i]).epsilon(1e-4).margin(1e-5));
  }
}

}  // namespace

TEST_CASE("Linear is input times weight transposed plus bias") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const nn::Linear layer(nn::LinearOptions(5, 3).bias(true), host, 11);
  CHECK(layer->weight.shape() == Dims{3, 5});
  CHECK(layer->bias.shape() == Dims{3});
  const Tensor x = random_normal({4, 5}, 3, host);
  const Reference expected =
      matmul(reference_of(x), reference_of(layer->weight).transpose()) + reference_of(layer->bias);
  check_equal(layer(x), expected);

  const nn::Linear plain(nn::LinearOptions(5, 3).bias(false), host, 11);
  CHECK_FALSE(plain->bias.defined());
  CHECK(plain->parameters().size() == 1);
  check_equal(plain(x), matmul(reference_of(x), reference_of(layer->weight).transpose()));
}

TEST_CASE("Linear works over the last dimension of any shape") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const nn::Linear layer(nn::LinearOptions(5, 3), host, 11);
  const Tensor x = random_normal({24, 5}, 3, host);
  const Reference flat = reference_of(layer(x));
  check_equal(layer(x.reshape({2, 3, 4, 5})), flat.reshape({2, 3, 4, 3}));
  const Tensor row = random_normal({5}, 3, host);
  CHECK(layer(row).shape() == Dims{3});
  CHECK(layer(empty({0, 5}, host)).shape() == Dims{0, 3});
  CHECK(layer(empty({2, 0, 5}, host)).shape() == Dims{2, 0, 3});
}

TEST_CASE("initial weights are uniform within the bound and follow the key") {
  Runtime runtime = Runtime::create();
  Runtime another = Runtime::create();
  Device& host = runtime.device("host");
  const nn::Linear layer(nn::LinearOptions(64, 256), host, 5);
  const std::vector<float> weight = layer->weight.to_host<float>();
  const auto [low, high] = std::minmax_element(weight.begin(), weight.end());
  CHECK(*low >= -0.125F);
  CHECK(*low < -0.1249F);
  CHECK(*high < 0.125F);
  CHECK(*high > 0.1249F);
  double sum = 0;
  for (const float value : weight) sum += value;
  CHECK(std::abs(sum / static_cast<double>(weight.size())) < 0.002);

  const nn::Linear same(nn::LinearOptions(64, 256), another.device("host"), 5);
  CHECK(same->weight.to_host<float>() == weight);
  const nn::Linear different(nn::LinearOptions(64, 256), host, 6);
  CHECK(different->weight.to_host<float>() != weight);
  // The bias is no part of the weight's numbers.
  const std::vector<float> bias = layer->bias.to_host<float>();
  CHECK_FALSE(std::equal(bias.begin(), bias.end(), weight.begin()));
}

TEST_CASE("shapes that do not fit a Linear are named") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  CHECK_THROWS_AS(nn::Linear(nn::LinearOptions(-1, 3), host, 1), ShapeError);
  const nn::Linear layer(nn::LinearOptions(5, 3), host, 1);
  CHECK_THROWS_AS(layer(ones({}, host)), ShapeError);
  try {
    (void)layer(ones({2, 4}, host));
    FAIL("no error");
  } catch (const ShapeError& error) {
    CHECK(std::string(error.what()) ==
          "Linear: an input of shape [2, 4] does not end in in_features = 5");
  }
  const nn::Linear empty_layer(nn::LinearOptions(0, 3), host, 1);
  CHECK(empty_layer(empty({2, 0}, host)).shape() == Dims{2, 3});
}

TEST_CASE("Sequential runs its modules in order") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const nn::Linear first(nn::LinearOptions(5, 4), host, 1);
  const nn::Linear second(nn::LinearOptions(4, 2), host, 2);
  nn::Sequential network(first, nn::ReLU());
  network->push_back(second);
  CHECK(network->size() == 3);
  const Tensor x = random_normal({6, 5}, 9, host);
  CHECK(network(x).to_host<float>() == second(relu(first(x))).to_host<float>());
  // A copy is the same network, not one around it.
  nn::Sequential copy = network;
  CHECK(copy->size() == 3);
  nn::Sequential direct(network);
  CHECK(direct.ptr() == network.ptr());
  CHECK_THROWS_AS(network->push_back(nn::Linear(nullptr)), Error);
  // Nor does it go into itself.
  nn::Sequential around;
  around->push_back(network);
  CHECK_THROWS_AS(network->push_back(network), Error);
  CHECK_THROWS_AS(network->push_back(around), Error);
  CHECK(network->size() == 3);
  CHECK(around->parameters().size() == 4);
  CHECK(nn::Sequential()(x).to_host<float>() == x.to_host<float>());
}

TEST_CASE("derived keys differ") {
  std::set<std::uint64_t> keys;
  for (std::uint64_t key = 0; key < 100; ++key) {
    for (std::uint64_t index = 0; index < 100; ++index) keys.insert(nn::derive_key(key, index));
  }
  CHECK(keys.size() == 10'000);
  CHECK(nn::derive_key(1, 2) == nn::derive_key(1, 2));
}
