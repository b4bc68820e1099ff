#include "compute/fusion_limits.hpp"

#include "tests/compute/support.hpp"
#include "tests/support/forked.hpp"

using namespace forebay;
using namespace forebay::compute;
using namespace forebay::testing;

namespace {

Config with(const FusionConfig& fusion) {
  Config config;
  config.fusion = fusion;
  return config;
}

}  // namespace

TEST_CASE("the stricter limit counts") {
  FusionConfig config;
  config.max_ops = 10;
  config.max_inputs = 100;
  config.pinned_fraction = 0.5;
  const FusionLimits limits(config, Limits{.max_ops = 20, .max_leaves = 30}, 1000);
  CHECK(limits.most.ops == 10);
  CHECK(limits.most.leaves == 30);
  CHECK(limits.most.pinned == 500);
  CHECK(exceeded({.ops = 10, .leaves = 30}, limits) == nullptr);
  CHECK(exceeded({.ops = 11}, limits)->counter == &FusionEndCounters::max_ops);
  CHECK(exceeded({.leaves = 31}, limits)->counter == &FusionEndCounters::max_inputs);
  CHECK(exceeded({.scalars = limits.most.scalars + 1}, limits)->counter ==
        &FusionEndCounters::max_scalars);
  CHECK(exceeded({.height = config.max_height + 1}, limits)->counter ==
        &FusionEndCounters::max_height);
}

TEST_CASE("an end names its numbers and the key that bounds them") {
  FusionConfig config;
  config.max_ops = 10;
  config.pinned_fraction = 0.5;
  const FusionLimits limits(config, Limits{.max_scalars = 20}, 1000);
  const Weight many{.ops = 11};
  CHECK(numbers_of(*exceeded(many, limits), many, limits) ==
        "11 operations, at most 10 (fusion.max_ops)");
  const Weight scalars{.scalars = 21};
  CHECK(numbers_of(*exceeded(scalars, limits), scalars, limits) ==
        "21 scalars, at most 20 (the backend's)");
  CHECK(numbers_of(kEndPinned, {.pinned = 501}, limits) ==
        "501 bytes held by it alone, at most 500 (fusion.pinned_fraction)");
  CHECK(numbers_of(kEndRead, {.ops = 12, .leaves = 3, .scalars = 1}, limits) ==
        "it is read: 12 operations, 3 inputs, 1 scalar");
}

TEST_CASE("operations end an expression and are counted") {
  FusionConfig fusion;
  fusion.max_ops = 8;
  const Host host(with(fusion));
  Tensor t = host.f32({1, 2, 3});
  for (int i = 0; i < 8; ++i) t = std::move(t) + 1.0;
  CHECK(host.launches() == 0);
  t = std::move(t) + 1.0;
  CHECK(host.launches() == 1);
  CHECK(host.fusion().ends.max_ops.load() == 1);
  CHECK(t.to_host<float>() == std::vector<float>{10, 11, 12});
  CHECK(host.launches() == 2);
  CHECK(host.fusion().ends.read.load() == 1);
  CHECK(host.fusion().operations.load() == 9);
}

TEST_CASE("height ends an expression and is counted") {
  FusionConfig fusion;
  fusion.max_height = 5;
  const Host host(with(fusion));
  Tensor t = host.f32({1, 2, 3});
  for (int i = 0; i < 17; ++i) t = std::move(t) * 2.0;
  CHECK(host.fusion().ends.max_height.load() == 3);
  CHECK(host.fusion().ends.max_ops.load() == 0);
  CHECK(t.to_host<float>() == std::vector<float>{131072, 262144, 393216});
}

TEST_CASE("inputs end an expression and are counted") {
  FusionConfig fusion;
  fusion.max_inputs = 4;
  const Host host(with(fusion));
  std::vector<Tensor> inputs;
  for (int i = 0; i < 10; ++i) inputs.push_back(host.f32({static_cast<float>(i), 1}));
  Tensor sum = inputs[0];
  for (int i = 1; i < 4; ++i) sum = std::move(sum) + inputs[static_cast<std::size_t>(i)];
  CHECK(host.launches() == 0);
  for (int i = 4; i < 10; ++i) sum = std::move(sum) + inputs[static_cast<std::size_t>(i)];
  CHECK(host.fusion().ends.max_inputs.load() == 2);
  CHECK(sum.to_host<float>() == std::vector<float>{45, 10});
}

TEST_CASE("scalars end an expression and are counted") {
  const Host host;
  const std::uint64_t terms = Limits{}.max_scalars / 2 + 8;  // each brings two words of a key
  Tensor sum = zeros({2}, host.device).eval();
  double expected = 0;
  for (std::uint64_t i = 0; i < terms; i += 2) {
    const auto random = [&](std::uint64_t n) {
      return random_uniform({2}, n << 32 | (1000 + n), host.device);
    };
    sum = std::move(sum) + (random(i) + random(i + 1));
    expected += random(i).to_host<float>()[1] + random(i + 1).to_host<float>()[1];
  }
  CHECK(host.fusion().ends.max_scalars.load() == 1);
  CHECK(host.fusion().ends.max_inputs.load() == 0);
  CHECK(host.fusion().ends.max_ops.load() == 0);
  CHECK(sum.to_host<float>()[1] == Approx(expected).epsilon(1e-5));
}

TEST_CASE("values that a launch leaves out are counted") {
  const Host host;
  const std::uint64_t most = Limits{}.max_outputs;
  // Each is an operand of the next one, and held.
  std::vector<Tensor> held{host.f32({1, 2})};
  const auto chain = [&](std::uint64_t values) {
    held.resize(1);
    for (std::uint64_t i = 0; i < values; ++i) held.push_back(held.back() + 1.0);
    held.back().eval();
  };
  chain(most);
  CHECK(host.launches() == 1);
  CHECK(host.fusion().ends.max_outputs.load() == 0);
  chain(most + 2);
  CHECK(host.launches() == 2);
  CHECK(host.fusion().ends.max_outputs.load() == 1);
  CHECK(host.fusion().ends.read.load() == 2);
  // What was left out takes a launch of its own.
  CHECK(held[2].to_host<float>() == std::vector<float>{3, 4});
  CHECK(host.launches() == 3);
  CHECK(host.fusion().ends.max_outputs.load() == 1);
  CHECK(held[1].to_host<float>() == std::vector<float>{2, 3});
  CHECK(host.launches() == 3);
}

TEST_CASE("bytes that only an expression keeps alive end it and are counted") {
  Config config;
  config.pool.capacity = std::size_t{64} << 20;
  config.fusion.pinned_fraction = 0.25;
  const Host host(config);
  const std::int64_t quarter = (std::int64_t{16} << 20) / 4 / 2;  // half of the limit, in elements
  const auto make = [&] { return zeros({quarter}, host.device).eval(); };
  Tensor a = make() + make();
  CHECK(host.fusion().ends.pinned_bytes.load() == 0);
  Tensor b = std::move(a) + make();
  CHECK(host.fusion().ends.pinned_bytes.load() == 1);
  CHECK(b.node()->is(NodeKind::storage));
  // Somebody else holds these: the expression pins nothing.
  const Tensor held = make();
  Tensor c = held + 1.0;
  for (int i = 0; i < 5; ++i) c = std::move(c) + held;
  CHECK(host.fusion().ends.pinned_bytes.load() == 1);
}

TEST_CASE("shared nodes are weighed once before they end anything") {
  const Host host;
  Tensor t = host.f32({1, 2});
  // 2^40 operations when counted by use.
  for (int i = 0; i < 40; ++i) t = t + t;
  CHECK(host.launches() == 0);
  const float big = std::ldexp(1.0F, 40);
  CHECK(t.to_host<float>() == std::vector<float>{big, 2 * big});
  CHECK(host.fusion().operations.load() == 40);
}

TEST_CASE("weights are bounds from above, and exact on demand") {
  const Host host;
  const Tensor a = host.f32({1, 2});
  const Tensor x = a + 1.0;
  const std::array<NodeRef, 2> operands{x.node(), x.node()};
  const Weight bound = bound_weight(operands);
  CHECK(bound.ops == 3);
  CHECK(bound.leaves == 2);
  CHECK(bound.scalars == 2);
  CHECK(bound.height == 2);
  Walk walk;
  const Weight exact = exact_weight(operands, walk);
  CHECK(exact.ops == 2);
  CHECK(exact.leaves == 1);
  CHECK(exact.scalars == 1);
  CHECK(exact.height == 2);
  CHECK(exact.pinned == 0);
}

TEST_CASE("every end of an expression is traced with its numbers") {
  const test::Ended ended = test::in_child([] {
    Config config;
    config.log_level = LogLevel::trace;
    config.fusion.max_ops = 8;
    config.fusion.max_inputs = 3;
    config.fusion.max_height = 6;
    config.pool.capacity = std::size_t{64} << 20;
    config.fusion.pinned_fraction = 0.25;
    const Host host(config);
    const Tensor a = host.f32({1, 2});
    const Tensor b = host.f32({3, 4});
    ((a + 1.0) * b).eval();
    (void)(a * b).sum().eval();
    Tensor high = a;
    for (int i = 0; i < 7; ++i) high = std::move(high) + 1.0;
    Tensor wide = a * b;
    wide = std::move(wide) + host.f32({5, 6});
    wide = std::move(wide) + host.f32({7, 8});
    Tensor many = (((a + b) * (a - b)) + ((a * b) * (b - a))) + 1.0;
    many = std::move(many) * ((a + 1.0) + (b + 1.0));
    const auto make = [&] {
      Tensor tensor = zeros({3 << 20}, host.device);
      tensor.eval();
      return tensor;
    };
    (void)(make() + make());
    Config traced;
    traced.log_level = LogLevel::trace;
    const Host other(traced);
    std::vector<Tensor> held{other.f32({1, 2})};
    for (int i = 0; i < 10; ++i) held.push_back(held.back() + 1.0);
    held.back().eval();
    return 0;
  });
  CHECK(ended.code == 0);
  INFO(ended.err);
  for (const char* line :
       {"it is read: 2 operations, 2 inputs, 1 scalar",
        "it is needed in memory: 1 operation, 2 inputs, 0 scalars",
        "7 levels, at most 6 (fusion.max_height)", "4 inputs, at most 3 (fusion.max_inputs)",
        "operations, at most 8 (fusion.max_ops)", "10 outputs, at most 8 (the backend's)",
        "25165824 bytes held by it alone, at most 16777216 (fusion.pinned_fraction)"}) {
    INFO(line);
    CHECK(contains(ended.err, std::string("an expression of host ends: ")));
    CHECK(contains(ended.err, line));
  }
}
