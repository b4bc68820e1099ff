// Expressions one below, at and one beyond each limit of the backend, linear and strided, stored
// and reduced, on the host and interpreted: what fits is one launch, and everything is right.
#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::testing;

namespace {

/// No limit but those of the backend.
Config backend_limits() {
  Config config;
  config.fusion.max_ops = 4096;
  config.fusion.max_inputs = 64;
  config.fusion.max_height = 1024;
  return config;
}

constexpr std::int64_t kLimitElements = 256;

/// Small whole numbers, so that sums are exact: element i of input k.
float limit_element(std::size_t input, std::int64_t i) {
  return static_cast<float>((static_cast<std::int64_t>(input) * 31 + i * 7) % 64 - 32);
}

/// Where element i of a tensor whose eight dimensions of two were turned around lies.
std::int64_t turned_around(std::int64_t i) {
  std::int64_t from = 0;
  for (int bit = 0; bit < 8; ++bit) from |= (i >> bit & 1) << (7 - bit);
  return from;
}

/// Input k, flat, or with eight dimensions that do not collapse.
Tensor limit_input(const Host& host, std::size_t k, bool strided) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < kLimitElements; ++i) values.push_back(limit_element(k, i));
  if (!strided) return host.f32(values);
  Tensor t = host.f32(values, {2, 2, 2, 2, 2, 2, 2, 2});
  for (int d = 0; d < 4; ++d) t = t.transpose(d, 7 - d);
  return t;
}

/// Checks `result`, whose element i must be `want(i)`, and its sum in a launch of its own kind.
template <typename Make, typename Want>
void check_limited(const Host& host, const Make& make, bool strided, std::uint64_t launches,
                   const Want& want) {
  double total = 0;
  {
    const Tensor result = make();
    const std::uint64_t before = host.launches();
    const std::vector<float> got = result.to_host<float>();
    for (std::int64_t i = 0; i < kLimitElements; ++i) {
      const float wanted = want(strided ? turned_around(i) : i);
      total += wanted;
      REQUIRE(got[static_cast<std::size_t>(i)] == wanted);
    }
    CHECK(host.launches() - before == 1);
  }
  const std::uint64_t before = host.launches();
  CHECK(make().sum().item() == static_cast<float>(total));
  CHECK(host.launches() - before == launches);
}

}  // namespace

TEST_CASE("inputs up to the limit are one launch, one more is another") {
  const Host host(backend_limits());
  const std::size_t most = compute::backend_of(host.device).limits().max_leaves;
  for (const bool strided : {false, true}) {
    std::vector<Tensor> inputs;
    for (std::size_t k = 0; k <= most; ++k) inputs.push_back(limit_input(host, k, strided));
    for (const std::size_t count : {most - 1, most, most + 1}) {
      INFO(count << " inputs of " << most << ", strided " << strided);
      const auto make = [&] {
        Tensor sum = inputs[0];
        for (std::size_t k = 1; k < count; ++k) sum = std::move(sum) + inputs[k];
        return sum;
      };
      check_limited(host, make, strided, count > most ? 2 : 1, [&](std::int64_t i) {
        float sum = 0;
        for (std::size_t k = 0; k < count; ++k) sum += limit_element(k, i);
        return sum;
      });
    }
  }
}

TEST_CASE("constants up to the limit are one launch, one more is another") {
  const Host host(backend_limits());
  const std::size_t most = compute::backend_of(host.device).limits().max_scalars;
  REQUIRE(most < compute::backend_of(host.device).limits().max_ops);
  for (const bool strided : {false, true}) {
    const Tensor x = limit_input(host, 0, strided);
    for (const std::size_t count : {most - 1, most, most + 1}) {
      INFO(count << " constants of " << most << ", strided " << strided);
      const auto make = [&] {
        Tensor sum = x;
        for (std::size_t k = 1; k <= count; ++k) sum = std::move(sum) + static_cast<float>(k);
        return sum;
      };
      check_limited(host, make, strided, count > most ? 2 : 1, [&](std::int64_t i) {
        return limit_element(0, i) + static_cast<float>(count * (count + 1) / 2);
      });
    }
  }
}

TEST_CASE("operations up to the limit are one launch, one more is another") {
  const Host host(backend_limits());
  const std::size_t most = compute::backend_of(host.device).limits().max_ops;
  for (const bool strided : {false, true}) {
    const Tensor x = limit_input(host, 0, strided);
    for (const std::size_t count : {most - 1, most, most + 1}) {
      INFO(count << " operations of " << most << ", strided " << strided);
      const auto make = [&] {
        Tensor sum = x;
        for (std::size_t k = 0; k < count; ++k) sum = std::move(sum) + 1.0F;
        return sum;
      };
      check_limited(host, make, strided, count > most ? 2 : 1, [&](std::int64_t i) {
        return limit_element(0, i) + static_cast<float>(count);
      });
    }
  }
}

TEST_CASE("results beyond those of one launch are another") {
  const Host host(backend_limits());
  const std::size_t most = compute::backend_of(host.device).limits().max_outputs;
  for (const bool strided : {false, true}) {
    const Tensor x = limit_input(host, 0, strided);
    for (const std::size_t count : {most - 1, most, most + 1}) {
      INFO(count << " results of " << most << ", strided " << strided);
      std::vector<Tensor> results;
      for (std::size_t k = 0; k < count; ++k) results.push_back(x + static_cast<float>(k));
      const std::uint64_t before = host.launches();
      eval(results);
      CHECK(host.launches() - before == (count > most ? 2 : 1));
      for (std::size_t k = 0; k < count; ++k) {
        CHECK(results[k].to_host<float>()[3] ==
              limit_element(0, strided ? turned_around(3) : 3) + static_cast<float>(k));
      }
    }
  }
}
