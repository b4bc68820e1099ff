#include <functional>
#include <limits>
#include <random>

#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::testing;

namespace {

struct Reference {
  Dims shape;
  std::vector<double> sums;
  std::vector<double> magnitudes;
  std::int64_t elements = 1;
};

// Sums in double, element by element.
Reference reference(const std::vector<float>& values, const Dims& shape,
                    const std::vector<int>& axes, bool keepdim) {
  Reference result;
  std::vector<bool> reduced(shape.size(), axes.empty());
  for (const int axis : axes) reduced[static_cast<std::size_t>(axis)] = true;
  Dims steps = shape;
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    steps[d] = reduced[d] ? 0 : stride;
    if (!reduced[d]) stride *= shape[d];
  }
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (!reduced[d]) result.shape.push_back(shape[d]);
    if (reduced[d] && keepdim) result.shape.push_back(1);
    if (reduced[d]) result.elements *= shape[d];
  }
  result.sums.assign(static_cast<std::size_t>(stride), 0.0);
  result.magnitudes = result.sums;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i);
    std::int64_t at = 0;
    for (std::size_t d = shape.size(); d-- > 0;) {
      at += rest % shape[d] * steps[d];
      rest /= shape[d];
    }
    result.sums[static_cast<std::size_t>(at)] += values[i];
    result.magnitudes[static_cast<std::size_t>(at)] += std::abs(values[i]);
  }
  return result;
}

std::vector<float> random_values(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> between(-1.0F, 1.0F);
  std::vector<float> values(n);
  for (float& v : values) v = between(random);
  return values;
}

bool close(const std::vector<float>& result, const Reference& expected, double scale = 1.0) {
  if (result.size() != expected.sums.size()) return false;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const double error = std::abs(result[i] - expected.sums[i] * scale);
    if (error > 1e-6 * expected.magnitudes[i] * scale + 1e-30) {
      UNSCOPED_INFO("element " << i << ": " << result[i] << " for " << expected.sums[i] * scale);
      return false;
    }
  }
  return true;
}

// Every reduction of `t`, by the name that its messages begin with.
using OverAxes = std::pair<const char*, std::function<void(const std::vector<int>&)>>;
std::vector<OverAxes> over_any_axes(const Tensor& t) {
  using Axes = const std::vector<int>&;
  return {{"sum", [t](Axes axes) { (void)t.sum(axes); }},
          {"mean", [t](Axes axes) { (void)t.mean(axes); }},
          {"prod", [t](Axes axes) { (void)t.prod(axes); }},
          {"min", [t](Axes axes) { (void)t.min(axes); }},
          {"max", [t](Axes axes) { (void)t.max(axes); }},
          {"argmin", [t](Axes axes) { (void)t.argmin(axes); }},
          {"argmax", [t](Axes axes) { (void)t.argmax(axes); }},
          {"any", [t](Axes axes) { (void)t.any(axes); }},
          {"all", [t](Axes axes) { (void)t.all(axes); }},
          {"var", [t](Axes axes) { (void)t.var(axes); }},
          {"norm", [t](Axes axes) { (void)t.norm(axes); }}};
}

}  // namespace

TEST_CASE("sums and means over all subsets of axes, of many shapes") {
  Config config;
  config.host_threads = 2;
  const Host host(config);
  const std::vector<Dims> shapes{
      {1},          {7},          {5000},        {3, 5},          {300, 5},
      {5, 300},     {2, 2100},    {2100, 2},     {4, 3, 5},       {2, 1100, 3},
      {1, 4, 1, 6}, {3, 2, 4, 5}, {70, 3, 7, 9}, {2, 3, 2, 3, 2}, {2, 2, 2, 2, 2, 2, 2, 2},
      {17, 64, 130}};
  for (const Dims& shape : shapes) {
    const auto values = random_values(static_cast<std::size_t>(checked_numel(shape)), 3);
    const Tensor t = host.f32(values, shape);
    for (unsigned subset = 0; subset < 1U << shape.size(); ++subset) {
      std::vector<int> axes;
      for (std::size_t d = 0; d < shape.size(); ++d) {
        if (((subset >> d) & 1U) != 0) axes.push_back(static_cast<int>(d));
      }
      for (const bool keepdim : {false, true}) {
        const Reference expected = reference(values, shape, axes, keepdim);
        INFO(to_string(shape) << " subset " << subset << (keepdim ? " kept" : ""));
        const Tensor sum = t.sum(axes, keepdim);
        REQUIRE(sum.shape() == expected.shape);
        REQUIRE(close(sum.to_host<float>(), expected));
        const Tensor mean = t.mean(axes, keepdim);
        REQUIRE(mean.shape() == expected.shape);
        REQUIRE(
            close(mean.to_host<float>(), expected, 1.0 / static_cast<double>(expected.elements)));
      }
    }
  }
}

TEST_CASE("axes are one number, a list or an array of any kind") {
  const Host host;
  const Tensor t = host.f32({1, 2, 3, 4, 5, 6}, {2, 3});
  const std::vector<float> columns{5, 7, 9};
  CHECK(t.sum(0).to_host<float>() == columns);
  CHECK(t.sum(-2).to_host<float>() == columns);
  CHECK(t.sum({0}).to_host<float>() == columns);
  CHECK(t.sum(t.rank() - 2).to_host<float>() == columns);
  CHECK(t.sum(std::array{0}).to_host<float>() == columns);
  CHECK(t.sum(std::span<const int>(std::vector<int>{0})).to_host<float>() == columns);
  CHECK(t.sum({0, 1}).item() == 21);
  CHECK(t.sum().item() == 21);
  CHECK(t.sum({}, true).shape() == Dims{1, 1});
  CHECK(t.argmax(1).to_host<std::int64_t>() == std::vector<std::int64_t>{2, 2});
  CHECK_THROWS_AS(t.sum(std::int64_t{1} << 40), ShapeError);
}

TEST_CASE("sums of strided views") {
  const Host host;
  const auto values = random_values(6 * 50 * 7, 4);
  const Tensor t = host.f32(values, {6, 50, 7});
  const Tensor turned = t.transpose(0, 2);  // [7, 50, 6]
  const auto elements = turned.to_host<float>();
  for (unsigned subset = 0; subset < 8; ++subset) {
    std::vector<int> axes;
    for (int d = 0; d < 3; ++d) {
      if (((subset >> d) & 1U) != 0) axes.push_back(d);
    }
    INFO("subset " << subset);
    const Tensor again = t.transpose(0, 2);
    CHECK(close(again.sum(axes).to_host<float>(), reference(elements, {7, 50, 6}, axes, false)));
  }
  const Tensor row = host.f32({1, 2, 3});
  CHECK(row.broadcast_to({1000, 3}).sum().item() == 6000);
  const std::vector<int> first{0};
  CHECK(row.broadcast_to({1000, 3}).sum(first).to_host<float>() ==
        std::vector<float>{1000, 2000, 3000});
  CHECK(host.f32({2}, Dims()).broadcast_to({3000}).sum().item() == 6000);
}

TEST_CASE("integer sums are exact, and i64") {
  const Host host;
  std::vector<std::int32_t> values(5003);
  std::mt19937 random(5);
  std::int64_t expected = 0;
  for (auto& v : values) {
    v = static_cast<std::int32_t>(random() | 0x40000000U);
    expected += v;
  }
  const Tensor t = host.i32(values);
  CHECK(t.sum().item<std::int64_t>() == expected);
  CHECK(t.sum().dtype() == DType::i64);
  const std::vector<int> axis{0};
  const auto columns = t.reshape({5003, 1}).broadcast_to({5003, 3}).sum(axis);
  CHECK(columns.to_host<std::int64_t>() == std::vector<std::int64_t>(3, expected));
  // Beyond 2^63 they wrap.
  const Tensor most = full({3}, std::numeric_limits<std::int64_t>::max(), host.device).eval();
  CHECK(most.sum().item<std::int64_t>() == std::numeric_limits<std::int64_t>::max() - 2);
  CHECK(message_of<ShapeError>([&] { (void)t.mean(); }) == "mean has no form for i32 [5003]");
}

TEST_CASE("long sums stay exact where a running sum sticks") {
  const Host host;
  const std::int64_t n = std::int64_t{1} << 26;
  CHECK(full({n}, 1.0F, host.device).sum().item() == static_cast<float>(n));
  CHECK(full({n}, 0.1F, host.device).mean().item() == Approx(0.1F).epsilon(1e-6));
  const std::vector<int> axis{0};
  const auto columns = full({n / 4, 4}, 1.0F, host.device).sum(axis).to_host<float>();
  CHECK(columns == std::vector<float>(4, static_cast<float>(n / 4)));
}

TEST_CASE("the map in front is fused, and stored only for those who hold it") {
  const Host host;
  Tensor t = host.f32({1, 2, 3});
  t = std::move(t) + 1.0;
  CHECK(t.sum().item() == 9);
  CHECK(host.launches() == 1);
  CHECK(t.to_host<float>() == std::vector<float>{2, 3, 4});
  CHECK(host.launches() == 1);  // stored by the sum
  const auto total = [&] { return host.device.pool().stats().allocations.total; };
  const auto before = total();
  CHECK((t * 2.0).sum().item() == 18);
  CHECK(total() == before + 1);  // the result alone
  CHECK(host.launches() == 2);
  const Tensor inner = t + 10.0;
  CHECK((inner * 2.0).sum().item() == 78);
  CHECK(inner.to_host<float>() == std::vector<float>{12, 13, 14});
  CHECK(host.launches() == 3);
}

TEST_CASE("a result does not depend on the number of threads") {
  std::vector<float> sums;
  std::vector<std::vector<float>> columns;
  const std::vector<int> axis{0};
  for (const std::uint32_t threads : {1U, 2U, 5U}) {
    Config config;
    config.host_threads = threads;
    const Host host(config);
    const Tensor t = random_normal({1000, 1237}, 3, host.device).eval();
    sums.push_back(t.sum().item());
    columns.push_back(t.sum(axis).to_host<float>());
  }
  CHECK(sums[0] == sums[1]);
  CHECK(sums[0] == sums[2]);
  CHECK(columns[0] == columns[1]);
  CHECK(columns[0] == columns[2]);
}

TEST_CASE("a sum does not depend on where a row stands or where fusion cut") {
  const Host host;
  const auto row = random_values(777, 8);
  std::vector<float> twice = row;
  twice.insert(twice.end(), row.begin(), row.end());
  const std::vector<int> axis{1};
  const auto sums = host.f32(twice, {2, 777}).sum(axis).to_host<float>();
  CHECK(sums[0] == sums[1]);
  const Tensor t = host.f32(row);
  const float fused = (t * 3.0 + 1.0).sum().item();
  Tensor cut = (t * 3.0).eval();
  cut = (std::move(cut) + 1.0).eval();
  CHECK(cut.sum().item() == fused);
}

TEST_CASE("a sum does not depend on whether a broadcast or turned leaf was fused") {
  Config config;
  config.host_threads = 2;
  const Host host(config);
  const auto fused_as_cut = [](const std::function<Tensor()>& map, const Dims& shape) {
    for (unsigned subset = 0; subset < 1U << shape.size(); ++subset) {
      std::vector<int> axes;
      for (std::size_t d = 0; d < shape.size(); ++d) {
        if (((subset >> d) & 1U) != 0) axes.push_back(static_cast<int>(d));
      }
      INFO(to_string(shape) << " subset " << subset);
      const auto fused = map().sum(axes).to_host<float>();
      CHECK(same(fused, map().eval().sum(axes).to_host<float>()));
      CHECK(same(map().mean(axes).to_host<float>(), map().eval().mean(axes).to_host<float>()));
    }
  };
  for (const Dims& shape : {Dims{700, 1000}, Dims{37, 90, 130}, Dims{3, 700, 11}}) {
    const Tensor x = random_normal(shape, 3, host.device).eval();
    const Tensor column = random_normal({shape[shape.size() - 2], 1}, 5, host.device).eval();
    const Tensor row = random_normal({shape[shape.size() - 1]}, 6, host.device).eval();
    fused_as_cut([&] { return x + column; }, shape);
    fused_as_cut([&] { return x + row; }, shape);
    Dims turned = shape;
    std::swap(turned[0], turned[shape.size() - 1]);
    const Tensor y = random_normal(turned, 4, host.device).eval();
    fused_as_cut([&] { return x + y.transpose(0, -1); }, shape);
  }
}

TEST_CASE("a sum over extents of 1 is a value of its own") {
  const Host host;
  const std::vector<int> axis{1};
  for (const bool keepdim : {false, true}) {
    INFO((keepdim ? "kept" : "dropped"));
    Tensor one = host.f32({5}, {1});
    Tensor column = host.f32({1, 2, 3}, {3, 1});
    Tensor integers = host.i32({-7, 8}, {2, 1});
    const std::vector<Tensor> f32{one.sum({}, keepdim), one.mean({}, keepdim),
                                  column.sum(axis, keepdim), column.mean(axis, keepdim)};
    const Tensor sums = integers.sum(axis, keepdim);
    assign(one, host.f32({50}, {1}));
    assign(column, host.f32({10, 20, 30}, {3, 1}));
    assign(integers, host.i32({70, 80}, {2, 1}));
    CHECK(f32[0].shape() == (keepdim ? Dims{1} : Dims()));
    CHECK(f32[0].item() == 5);
    CHECK(f32[1].item() == 5);
    CHECK(f32[2].shape() == (keepdim ? Dims{3, 1} : Dims{3}));
    CHECK(f32[2].to_host<float>() == std::vector<float>{1, 2, 3});
    CHECK(f32[3].to_host<float>() == std::vector<float>{1, 2, 3});
    CHECK(sums.to_host<std::int64_t>() == std::vector<std::int64_t>{-7, 8});
    CHECK(sums.dtype() == DType::i64);
    CHECK(one.item() == 50);
  }
}

TEST_CASE("NaN and infinity go through sums") {
  const Host host;
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isnan(host.f32({1, nan, 2}).sum().item()));
  CHECK(host.f32({1, inf, 2}).sum().item() == inf);
  CHECK(std::isnan(host.f32({-inf, inf}).sum().item()));
}

TEST_CASE("sums of nothing and of one thing") {
  const Host host;
  CHECK(zeros({0}, host.device).sum().item() == 0);
  CHECK(std::isnan(zeros({0}, host.device).mean().item()));
  CHECK(zeros({0}, host.device, DType::i32).sum().item<std::int32_t>() == 0);
  CHECK(zeros({0}, host.device, DType::i32).sum().dtype() == DType::i64);
  const std::vector<int> last{-1};
  const std::vector<int> first{0};
  CHECK(zeros({3, 0}, host.device).sum(last).to_host<float>() == std::vector<float>(3, 0.0F));
  CHECK(zeros({3, 0}, host.device).sum(first).to_host<float>().empty());
  CHECK(zeros({0, 3}, host.device).sum(first, true).shape() == Dims{1, 3});
  CHECK(host.f32({5}, Dims()).sum().item() == 5);
  CHECK(host.f32({5}, Dims()).mean().item() == 5);
  CHECK((host.f32({5}, {1, 1}) + 1.0).sum().shape() == Dims());
  CHECK(host.f32({1, 2}, {1, 2}).sum(first).to_host<float>() == std::vector<float>{1, 2});
}

TEST_CASE("axes are checked") {
  const Host host;
  const Tensor t = counting(host, {2, 3});
  const auto over = [&](std::vector<int> axes) { return [&t, axes] { (void)t.sum(axes); }; };
  CHECK(contains(message_of<ShapeError>(over({2})), "axis 2"));
  CHECK(contains(message_of<ShapeError>(over({2})), "[2, 3]"));
  CHECK_THROWS_AS(over({-3})(), ShapeError);
  CHECK(contains(message_of<ShapeError>(over({0, -2})), "twice"));
  const std::vector<int> last{-1};
  CHECK(t.sum(last).to_host<float>() == std::vector<float>{3, 12});
  for (const auto& [name, call] : over_any_axes(t)) {
    CHECK(message_of<ShapeError>([&, &f = call] { f({2}); }) ==
          std::string(name) + ": axis 2 is not in shape [2, 3]");
    CHECK(message_of<ShapeError>([&, &f = call] {
            f({1, -1});
          }) == std::string(name) + ": axis 1 is given twice for shape [2, 3]");
  }
}

TEST_CASE("without dimensions there is an axis all the same, 0 or -1") {
  const Host host;
  const Tensor one = host.f32({3}, Dims());
  for (const int axis : {0, -1}) {
    const std::vector<int> axes{axis};
    for (const bool keepdim : {false, true}) {
      CHECK(one.sum(axes, keepdim).shape() == Dims());
      CHECK(one.sum(axes, keepdim).item() == 3);
      CHECK(one.mean(axes, keepdim).item() == 3);
      CHECK(one.prod(axes, keepdim).item() == 3);
      CHECK(one.max(axes, keepdim).item() == 3);
      CHECK(one.argmin(axes, keepdim).item<std::int64_t>() == 0);
      CHECK(one.any(axes, keepdim).item<bool>());
      CHECK(one.all(axes, keepdim).item<bool>());
      CHECK(one.norm(axes, keepdim).item() == 3);
      CHECK(one.var(axes, false, keepdim).item() == 0);
      CHECK(std::isnan(one.var(axes, true, keepdim).item()));
    }
  }
  for (const auto& [name, call] : over_any_axes(one)) {
    CHECK(message_of<ShapeError>([&, &f = call] { f({1}); }) ==
          std::string(name) + ": axis 1 is not in shape []");
    CHECK_THROWS_AS(call({-2}), ShapeError);
    CHECK_THROWS_AS(call({0, -1}), ShapeError);
  }
}
