#include "forebay/nn/module.hpp"

#include "forebay/nn/layers.hpp"
#include "forebay/runtime/runtime.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;

namespace {

// A module as users write them: two layers and a scale of its own.
struct NetImpl : nn::Module {
  explicit NetImpl(Device& device)
      : first(register_module("first", nn::Linear(nn::LinearOptions(3, 4), device, 1))),
        second(
            register_module("second", nn::Linear(nn::LinearOptions(4, 2).bias(false), device, 2))),
        scale(register_parameter("scale", ones({}, device))) {}
  Tensor forward(Tensor input) override { return second(relu(first(std::move(input)))) * scale; }
  nn::Linear first, second;
  Tensor scale;
};
struct Net : nn::ModuleHolder<NetImpl> {
  using ModuleHolder::ModuleHolder;
};

std::vector<std::string> names(const nn::Module& module) {
  std::vector<std::string> result;
  for (const auto& [name, parameter] : module.named_parameters()) result.push_back(name);
  return result;
}

}  // namespace

TEST_CASE("parameters are found by their paths, own ones first") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const Net net(host);
  CHECK(names(*net) ==
        std::vector<std::string>{"scale", "first.weight", "first.bias", "second.weight"});
  CHECK(net->parameters().size() == 4);
  for (const Tensor& parameter : net->parameters()) CHECK(nn::is_tracked(parameter));
  CHECK(net->parameters()[1].data() == net->first->weight.data());
  CHECK(net(ones({5, 3}, host)).shape() == Dims{5, 2});
}

TEST_CASE("zero_grad reaches every parameter") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const Net net(host);
  nn::backward(net(ones({5, 3}, host)).sum());
  bool any = false;
  for (const Tensor& parameter : net->parameters()) {
    for (const float g : nn::grad(parameter).to_host<float>()) any = any || g != 0;
  }
  CHECK(any);
  net->zero_grad();
  for (const Tensor& parameter : net->parameters()) {
    for (const float g : nn::grad(parameter).to_host<float>()) CHECK(g == 0);
  }
}

TEST_CASE("a module in two places has its parameters once") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const nn::Linear layer(nn::LinearOptions(3, 3), host, 1);
  const nn::Sequential twice(layer, nn::ReLU(), layer);
  CHECK(names(*twice) == std::vector<std::string>{"0.weight", "0.bias"});
}

TEST_CASE("holders share their module") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  nn::Linear layer(nn::LinearOptions(3, 3), host, 1);
  nn::Linear same = layer;
  CHECK(same.ptr() == layer.ptr());
  nn::Linear none{nullptr};
  CHECK_FALSE(none);
  none = layer;
  CHECK(none);
  CHECK(&*none == layer.ptr().get());
}

TEST_CASE("names that cannot stand in a path are refused") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  Net net(host);
  CHECK_THROWS_AS(net->register_parameter("", ones({1}, host)), Error);
  CHECK_THROWS_AS(net->register_parameter("a.b", ones({1}, host)), Error);
  CHECK_THROWS_AS(net->register_parameter("first", ones({1}, host)), Error);
  CHECK_THROWS_AS(net->register_module("scale", nn::ReLU()), Error);
  CHECK_THROWS_AS(net->register_module("third", nn::Linear(nullptr)), Error);
  CHECK_THROWS_AS(net->register_parameter("count", zeros({1}, host, DType::i32)), ShapeError);
  CHECK(names(*net).size() == 4);
}

TEST_CASE("a module that says nothing has no forward") {
  struct Silent : nn::Module {};
  Silent silent;
  CHECK_THROWS_AS(silent.forward(Tensor()), Error);
}
