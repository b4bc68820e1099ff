#include "forebay/compute/normalize.hpp"

#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::testing;

namespace {

constexpr std::int64_t kRows = 5;
constexpr std::int64_t kColumns = 300;

std::vector<float> values() {
  std::vector<float> made;
  for (int i = 0; i < kRows * kColumns; ++i) made.push_back(std::sin(static_cast<float>(i)) * 20);
  return made;
}

}  // namespace

TEST_CASE("softmax and its logarithm against doubles, along both axes") {
  const Host host;
  const auto x = values();
  const Tensor t = host.f32(x, {kRows, kColumns});
  for (const int axis : {0, 1, -1}) {
    INFO("axis " << axis);
    const auto soft = softmax(t, axis).to_host<float>();
    const auto logs = log_softmax(t, axis).to_host<float>();
    const std::int64_t count = axis == 0 ? kRows : kColumns;
    const std::int64_t step = axis == 0 ? kColumns : 1;
    for (std::int64_t i = 0; i < kRows * kColumns; ++i) {
      const std::int64_t start = axis == 0 ? i % kColumns : i / kColumns * kColumns;
      double largest = -1e30;
      for (std::int64_t k = 0; k < count; ++k) {
        largest =
            std::max(largest, static_cast<double>(x[static_cast<std::size_t>(start + k * step)]));
      }
      double sum = 0;
      for (std::int64_t k = 0; k < count; ++k) {
        sum +=
            std::exp(static_cast<double>(x[static_cast<std::size_t>(start + k * step)]) - largest);
      }
      const auto at = static_cast<std::size_t>(i);
      const double low = static_cast<double>(x[at]) - largest;
      REQUIRE(soft[at] == Approx(std::exp(low) / sum).epsilon(3e-6).margin(1e-37));
      REQUIRE(logs[at] == Approx(low - std::log(sum)).epsilon(1e-6).margin(1e-6));
    }
  }
}

TEST_CASE("softmax neither overflows nor needs a real type") {
  const Host host;
  CHECK(softmax(host.f32({1e30F, 1e30F})).to_host<float>() == std::vector<float>{0.5F, 0.5F});
  CHECK(softmax(host.i32({3, 3, 3, 3})).to_host<float>() == std::vector<float>(4, 0.25F));
  CHECK(softmax(ones({2}, host.device, DType::f16)).dtype() == DType::f16);
  CHECK(softmax(ones({2}, host.device, DType::f64)).dtype() == DType::f64);
  CHECK(softmax(zeros({3, 0}, host.device)).shape() == Dims{3, 0});
  CHECK(log_softmax(host.f32({0, -200})).to_host<float>()[1] == -200);
  CHECK_THROWS_AS(softmax(host.f32({1}), 1), ShapeError);
}

TEST_CASE("a softmax without dimensions has an axis all the same, 0 or -1") {
  const Host host;
  const Tensor one = host.f32({7}, Dims());
  for (const int axis : {0, -1}) {
    CHECK(softmax(one, axis).shape() == Dims());
    CHECK(softmax(one, axis).item() == 1);
    CHECK(log_softmax(one, axis).item() == 0);
  }
  CHECK(message_of<ShapeError>([&] { (void)softmax(one, 1); }) ==
        "softmax: axis 1 is not in shape []");
  CHECK_THROWS_AS(log_softmax(one, -2), ShapeError);
}

TEST_CASE("layer_norm centres and scales its last dimensions") {
  const Host host;
  const auto x = values();
  const Tensor t = host.f32(x, {kRows, 3, 100});
  const Tensor weight = full({3, 100}, 2.0F, host.device);
  const Tensor bias = full({100}, 1.0F, host.device);
  const auto got = layer_norm(t, 2, weight, bias).to_host<float>();
  for (std::int64_t row = 0; row < kRows; ++row) {
    double mean = 0;
    double square = 0;
    const auto begin = static_cast<std::size_t>(row * kColumns);
    for (std::size_t k = 0; k < kColumns; ++k) mean += static_cast<double>(x[begin + k]) / kColumns;
    for (std::size_t k = 0; k < kColumns; ++k) {
      square += std::pow(static_cast<double>(x[begin + k]) - mean, 2) / kColumns;
    }
    for (std::size_t k = 0; k < kColumns; ++k) {
      const double want =
          (static_cast<double>(x[begin + k]) - mean) / std::sqrt(square + 1e-5) * 2 + 1;
      REQUIRE(got[begin + k] == Approx(want).epsilon(1e-5).margin(1e-5));
    }
  }
  CHECK(layer_norm(ones({4, 8}, host.device, DType::bf16)).dtype() == DType::bf16);
  CHECK(contains(message_of<ShapeError>([&] { (void)layer_norm(t, 4); }), "[5, 3, 100]"));
  const auto said = [&](const Tensor& of, int dimensions, const std::optional<Tensor>& by) {
    return message_of<ShapeError>([&] { (void)layer_norm(of, dimensions, by); });
  };
  CHECK(contains(said(host.i32({1, 2}), 1, {}), "no form for i32"));
  CHECK(contains(said(host.f32({1, 2}), 2, {}), "one is allowed"));
  CHECK(contains(said(full({}, 1.0F, host.device), 1, {}), "there is none"));
  CHECK(contains(said(host.f32({1, 2}), 1, ones({3}, host.device)), "a weight of shape [3]"));
}

TEST_CASE("a weight or bias that would widen the result of layer_norm is refused") {
  const Host host;
  const Tensor x = host.f32({1, 2, 3});
  const Tensor wide = ones({2, 3}, host.device);
  CHECK(message_of<ShapeError>([&] { (void)layer_norm(x, 1, wide); }) ==
        "layer_norm: a weight of shape [2, 3] does not broadcast to [3]");
  CHECK(message_of<ShapeError>([&] { (void)layer_norm(x, 1, std::nullopt, wide); }) ==
        "layer_norm: a bias of shape [2, 3] does not broadcast to [3]");
  const std::string message =
      message_of<ShapeError>([&] { (void)layer_norm(x, 1, ones({4}, host.device)); });
  CHECK(contains(message, "[4]"));
  CHECK(contains(message, "[3]"));
  CHECK_THROWS_AS(layer_norm(zeros({0, 3}, host.device), 1, ones({2, 1, 3}, host.device)),
                  ShapeError);
  CHECK(layer_norm(wide, 1, x, ones({1}, host.device)).shape() == Dims{2, 3});
}

TEST_CASE("normalisations of f64 against long doubles, along both axes") {
  const Host host;
  std::vector<double> x;
  for (int i = 0; i < kRows * kColumns; ++i) x.push_back(std::sin(i * 0.7) * 20 + i % 7);
  const Tensor t = from_host<double>(x, {kRows, kColumns}, host.device);
  const double weight = 1.25;
  const double bias = -0.5;
  const auto close = [](double got, long double want, long double scale) {
    return std::abs(static_cast<long double>(got) - want) <= 1e-13L * scale;
  };
  for (const bool along_rows : {true, false}) {
    INFO("along rows " << along_rows);
    const int axis = along_rows ? 1 : 0;
    const auto soft = softmax(t, axis).to_host<double>();
    const auto logs = log_softmax(t, axis).to_host<double>();
    // Of two dimensions of which the first has one element: put together from operations.
    const Tensor scale = full({kColumns}, weight, host.device);
    const Tensor shift = full({kColumns}, bias, host.device);
    const Tensor normalised = along_rows
                                  ? layer_norm(t, 1, scale, shift)
                                  : layer_norm(t.reshape({kRows, 1, kColumns}), 2, scale, shift);
    const auto normal = normalised.to_host<double>();
    const std::int64_t count = along_rows ? kColumns : kRows;
    const std::int64_t step = along_rows ? 1 : kColumns;
    for (std::int64_t i = 0; i < kRows * kColumns; ++i) {
      const auto line = [&](std::int64_t k) -> long double {
        const std::int64_t start = along_rows ? i / kColumns * kColumns : i % kColumns;
        return x[static_cast<std::size_t>(start + k * step)];
      };
      const auto row = [&](std::int64_t k) -> long double {
        return x[static_cast<std::size_t>(i / kColumns * kColumns + k)];
      };
      const auto at = static_cast<std::size_t>(i);
      long double most = line(0);
      for (std::int64_t k = 0; k < count; ++k) most = std::max(most, line(k));
      long double sum = 0;
      for (std::int64_t k = 0; k < count; ++k) sum += std::exp(line(k) - most);
      const long double low = x[at] - most;
      REQUIRE(close(soft[at], std::exp(low) / sum, std::exp(low) / sum));
      const long double logarithm = low - std::log(sum);
      // The sum of powers is at least 1 and rounded.
      REQUIRE(close(logs[at], logarithm, std::abs(logarithm) + 1));
      long double mean = 0;
      for (std::int64_t k = 0; k < kColumns; ++k) mean += row(k) / kColumns;
      long double square = 0;
      for (std::int64_t k = 0; k < kColumns; ++k) {
        square += (row(k) - mean) * (row(k) - mean) / kColumns;
      }
      const long double centred = (x[at] - mean) / std::sqrt(square + 1e-5L);
      // Relative to the terms: a difference near 0 keeps their error.
      REQUIRE(close(normal[at], centred * weight + bias, std::abs(centred) + 1));
    }
  }
}

TEST_CASE("layer_norm with a weight of f64 has the same bits along rows and by operations") {
  const Host host;
  const Tensor x = host.f32(values(), {kRows, kColumns});
  const Tensor weight = (x.sum(std::vector<int>{0}) * 0.37F).to(DType::f64) + 1e-9;
  CHECK(same(layer_norm(x, 1, weight).to_host<float>(),
             layer_norm(x, 1, weight.reshape({1, kColumns})).to_host<float>()));
}
