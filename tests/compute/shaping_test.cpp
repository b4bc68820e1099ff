#include "forebay/compute/shaping.hpp"

#include <numeric>

#include "forebay/compute/in_place.hpp"
#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::testing;

using V = std::vector<float>;

TEST_CASE("narrow is a view with an offset") {
  const Host host;
  const Tensor t = counting(host, {4, 5}).eval();
  CHECK(narrow(t, 0, 1, 2).to_host<float>() == V{5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
  CHECK(narrow(t, 1, -2, 2).to_host<float>() == V{3, 4, 8, 9, 13, 14, 18, 19});
  CHECK(narrow(narrow(t, 0, 1, 3), 1, 1, 2).to_host<float>() == V{6, 7, 11, 12, 16, 17});
  CHECK(narrow(t, 0, 2, 0).shape() == Dims{0, 5});
  CHECK(narrow(t, 0, 3, 1).data() == static_cast<float*>(t.data()) + 15);
  CHECK((narrow(t, 0, 0, 2) + narrow(t, 0, 2, 2)).to_host<float>() ==
        V{10, 12, 14, 16, 18, 20, 22, 24, 26, 28});
  CHECK(narrow(t, 1, 1, 3).sum().item() == narrow(t, 1, 1, 3).reshape({12}).sum().item());
  CHECK(narrow(t, 0, 3, 1).reshape({5, 1}).to_host<float>() == V{15, 16, 17, 18, 19});
  CHECK(narrow(full({4}, 2.0F, host.device), 0, 1, 2).to_host<float>() == V{2, 2});
  CHECK(narrow(t.to(DType::u8).eval(), 0, 1, 1).to_host<std::uint8_t>() ==
        std::vector<std::uint8_t>{5, 6, 7, 8, 9});
  CHECK(message_of<ShapeError>([&] { (void)narrow(t, 0, 3, 2); }) ==
        "narrow: there are no 2 elements from 3 on along axis 0 of shape [4, 5]");
  CHECK_THROWS_AS(narrow(t, 2, 0, 1), ShapeError);
}

TEST_CASE("slices follow Python, backwards too") {
  const Host host;
  const Tensor t = counting(host, {7}).eval();
  const auto got = [&](std::int64_t start, std::int64_t stop, std::int64_t step) {
    return slice(t, 0, start, stop, step).to_host<float>();
  };
  CHECK(got(1, 6, 2) == V{1, 3, 5});
  CHECK(got(-3, 100, 1) == V{4, 5, 6});
  CHECK(got(5, 2, 1).empty());
  CHECK(got(5, 1, -2) == V{5, 3});
  CHECK(got(100, kSliceEnd, -3) == V{6, 3, 0});
  CHECK(got(-1, -8, -1) == V{6, 5, 4, 3, 2, 1, 0});
  CHECK(got(0, 7, INT64_MAX) == V{0});
  CHECK(got(6, kSliceEnd, INT64_MIN) == V{6});
  CHECK_THROWS_AS(slice(t, 0, 0, 1, 0), ShapeError);
  // Every bound and step, against the rule written out.
  for (std::int64_t start = -9; start <= 9; ++start) {
    for (std::int64_t stop = -9; stop <= 9; ++stop) {
      for (const std::int64_t step : {-3, -2, -1, 1, 2, 3}) {
        V want;
        const auto bound = [&](std::int64_t at) {
          const std::int64_t low = step > 0 ? 0 : -1;
          return std::clamp<std::int64_t>(at < 0 ? at + 7 : at, low, low + 7);
        };
        for (std::int64_t i = bound(start); step > 0 ? i < bound(stop) : i > bound(stop);
             i += step) {
          want.push_back(static_cast<float>(i));
        }
        INFO(start << ":" << stop << ":" << step);
        REQUIRE(got(start, stop, step) == want);
      }
    }
  }
}

TEST_CASE("reversed views compute, reduce and multiply") {
  const Host host;
  const Tensor t = counting(host, {3, 4}).eval();
  const Tensor back = flip(t, 1);
  CHECK(back.to_host<float>() == V{3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8});
  CHECK((t + back).to_host<float>() == V{3, 3, 3, 3, 11, 11, 11, 11, 19, 19, 19, 19});
  CHECK((flip(t, 0) * 1.0).sum().item() == 66);
  const std::vector<int> last{1};
  CHECK(back.argmax(last).to_host<std::int64_t>() == std::vector<std::int64_t>{0, 0, 0});
  CHECK(matmul(back, t.transpose()).to_host<float>()[0] == 3 * 0 + 2 * 1 + 1 * 2 + 0 * 3);
  CHECK(flip(flip(t, 0), 1).to_host<float>() == V{11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
}

TEST_CASE("parts are written in place, overlapping ones as if copied first") {
  const Host host;
  const Tensor t = counting(host, {8}).eval();
  assign(narrow(t, 0, 2, 3), host.f32({10, 20, 30}));
  CHECK(t.to_host<float>() == V{0, 1, 10, 20, 30, 5, 6, 7});
  assign(narrow(t, 0, 1, 5), narrow(t, 0, 0, 5));
  CHECK(t.to_host<float>() == V{0, 0, 1, 10, 20, 30, 6, 7});
  add_(narrow(t, 0, 1, 6), narrow(t, 0, 0, 6));
  CHECK(t.to_host<float>() == V{0, 0, 1, 11, 30, 50, 36, 7});
  assign(t, flip(t, 0));
  CHECK(t.to_host<float>() == V{7, 36, 50, 30, 11, 1, 0, 0});
}

TEST_CASE("matrix products take parts that lie anywhere") {
  const Host host;
  const Tensor t = counting(host, {5, 7}).eval();
  const Tensor a = narrow(narrow(t, 0, 1, 3), 1, 1, 4);
  const Tensor b = narrow(t.reshape({7, 5}), 0, 1, 4);
  CHECK(matmul(a, b).to_host<float>() == matmul(a * 1.0, b * 1.0).to_host<float>());
}

TEST_CASE("split gives views, the last one shorter") {
  const Host host;
  const Tensor t = counting(host, {2, 5}).eval();
  const auto pieces = split(t, 2, 1);
  REQUIRE(pieces.size() == 3);
  CHECK(pieces[1].to_host<float>() == V{2, 3, 7, 8});
  CHECK(pieces[2].to_host<float>() == V{4, 9});
  CHECK(split(zeros({0}, host.device), 3).size() == 1);
  CHECK_THROWS_AS(split(t, 0), ShapeError);
}

TEST_CASE("split by lengths gives views that cover the axis") {
  const Host host;
  const Tensor t = counting(host, {2, 5}).eval();
  const std::vector<std::int64_t> lengths{1, 0, 4};
  const auto pieces = split(t, lengths, -1);
  REQUIRE(pieces.size() == 3);
  CHECK(pieces[0].to_host<float>() == V{0, 5});
  CHECK(pieces[1].shape() == Dims{2, 0});
  CHECK(pieces[2].to_host<float>() == V{1, 2, 3, 4, 6, 7, 8, 9});
  const std::vector<std::int64_t> rows{1, 1};
  fill_(split(t, rows)[1], -1);
  CHECK(t.to_host<float>() == V{0, 1, 2, 3, 4, -1, -1, -1, -1, -1});
  const auto refused = [&](std::vector<std::int64_t> some) {
    return message_of<ShapeError>([&] { (void)split(t, some, 1); });
  };
  CHECK(refused({1, 3}) == "split: the last 1 are left over along axis 1 of shape [2, 5]");
  CHECK(refused({2, 4}) == "split: no piece of 4 in the last 3 along axis 1 of shape [2, 5]");
  CHECK(refused({6, -1}) == "split: no piece of 6 in the last 5 along axis 1 of shape [2, 5]");
  CHECK(refused({-1, 6}) == "split: no piece of -1 in the last 5 along axis 1 of shape [2, 5]");
  CHECK(refused({INT64_MAX, INT64_MAX, 7}) != "");
  CHECK(refused({}) != "");
}

TEST_CASE("cat and stack") {
  const Host host;
  const Tensor a = counting(host, {2, 3}).eval();
  const Tensor b = host.i32({10, 20}, {2, 1});
  const std::vector<Tensor> columns{a, b, a * 2.0};
  const Tensor wide = cat(columns, 1);
  CHECK(wide.shape() == Dims{2, 7});
  CHECK(wide.dtype() == DType::f32);
  CHECK(wide.to_host<float>() == V{0, 1, 2, 10, 0, 2, 4, 3, 4, 5, 20, 6, 8, 10});
  const std::vector<Tensor> rows{a, a.transpose().transpose(), zeros({0, 3}, host.device)};
  CHECK(cat(rows).to_host<float>() == V{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5});
  const std::vector<Tensor> pair{host.f32({1, 2}), host.f32({3, 4})};
  CHECK(stack(pair).to_host<float>() == V{1, 2, 3, 4});
  CHECK(stack(pair, 1).to_host<float>() == V{1, 3, 2, 4});
  CHECK(stack(pair, -1).shape() == Dims{2, 2});
  const std::vector<Tensor> narrow_types{ones({1}, host.device, DType::f16),
                                         ones({1}, host.device, DType::bf16)};
  CHECK(cat(narrow_types).dtype() == DType::f32);
  const std::vector<Tensor> odd{a, host.f32({1, 2, 3, 4}, {2, 2})};
  CHECK(contains(message_of<ShapeError>([&] { (void)cat(odd, 0); }), "[2, 2]"));
  CHECK_THROWS_AS(cat(std::span<const Tensor>{}), ShapeError);
  CHECK_THROWS_AS(stack(odd), ShapeError);
}

TEST_CASE("extents near 2^63 neither wrap in cat nor in split") {
  const Host host;
  const Tensor endless = zeros({0, INT64_MAX}, host.device);
  const std::vector<Tensor> twice{endless, endless};
  CHECK(contains(message_of<ShapeError>([&] { (void)cat(twice, 1); }), "axis 1 add up"));
  const std::vector<Tensor> parts = split(endless, INT64_MAX - 1, 1);
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].shape() == Dims{0, INT64_MAX - 1});
  CHECK(parts[1].shape() == Dims{0, 1});
  CHECK(split(endless, INT64_MAX, 1).size() == 1);
}

TEST_CASE("ranges") {
  const Host host;
  CHECK(arange(0, 5, 1, host.device, DType::f32).to_host<float>() == V{0, 1, 2, 3, 4});
  CHECK(arange(5, 0, -2, host.device, DType::i32).to_host<std::int32_t>() ==
        std::vector<std::int32_t>{5, 3, 1});
  CHECK(arange(0.0, 1.0, 0.25, host.device, DType::f64).to_host<double>() ==
        std::vector<double>{0, 0.25, 0.5, 0.75});
  const std::int64_t large = std::int64_t{1} << 60;
  CHECK(arange(large, large + 3, 1, host.device, DType::i64).to_host<std::int64_t>() ==
        std::vector<std::int64_t>{large, large + 1, large + 2});
  CHECK(arange(3, 3, 1, host.device, DType::f32).numel() == 0);
  CHECK(arange(3.0, 3.0, -1.0, host.device, DType::f32).numel() == 0);
  CHECK(message_of<ShapeError>([&] { (void)arange(0, 5, 0, host.device, DType::f32); }) ==
        "arange from 0 to 5 by 0: the step is 0");
  // Less than a step, away from the end.
  for (const DType type : {DType::f32, DType::i32}) {
    CHECK(message_of<ShapeError>([&] { (void)arange(0.0, 1.0, -2.0, host.device, type); }) ==
          "arange from 0 to 1 by -2: the step leads away from the end");
    CHECK_THROWS_AS(arange(1.0, 0.5, 2.0, host.device, type), ShapeError);
    CHECK_THROWS_AS(arange(0.0, 1.0, 0.0, host.device, type), ShapeError);
  }
  const double infinite = std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS(arange(0, infinite, 1, host.device, DType::f32), ShapeError);
  CHECK(message_of<ShapeError>([&] { (void)arange(0.0, 1e30, 1.0, host.device, DType::f32); }) ==
        "arange from 0 to 1e+30 by 1: more than 2^60 elements");
  CHECK_THROWS_AS(arange(0.0, 1.0, infinite, host.device, DType::f32), ShapeError);
  CHECK_THROWS_AS(arange(0, 5, -1, host.device, DType::f32), ShapeError);
  CHECK_THROWS_AS(arange(0, std::numeric_limits<double>::quiet_NaN(), 1, host.device, DType::f32),
                  ShapeError);
}

TEST_CASE("long ranges, and longer ones than fit") {
  const Host host;
  const std::int64_t count = (std::int64_t{1} << 21) + 3;
  const auto whole = arange(7, 7 + 3 * count, 3, host.device, DType::i64).to_host<std::int64_t>();
  const auto real =
      arange(-1.0, -1.0 + 0.1 * (static_cast<double>(count) - 0.5), 0.1, host.device, DType::f64)
          .to_host<double>();
  REQUIRE(whole.size() == static_cast<std::size_t>(count));
  REQUIRE(real.size() == static_cast<std::size_t>(count));
  bool equal = true;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    equal = equal && whole[i] == 7 + 3 * static_cast<std::int64_t>(i) &&
            real[i] == static_cast<double>(i) * 0.1 + -1.0;
  }
  CHECK(equal);
  const auto ranges_to = [&](Scalar end) {
    return [&host, end] { (void)arange(0, end, 1, host.device, DType::u8); };
  };
  for (const std::int64_t end : {std::int64_t{1} << 50, std::int64_t{1} << 60}) {
    CHECK_THROWS_AS(ranges_to(end)(), OutOfMemory);
    CHECK_THROWS_AS(ranges_to(static_cast<double>(end))(), OutOfMemory);
  }
  CHECK_THROWS_AS(ranges_to(std::numeric_limits<std::int64_t>::max())(), ShapeError);
  CHECK_THROWS_AS(ranges_to(1e300)(), ShapeError);
  CHECK_THROWS_AS(arange(std::numeric_limits<std::int64_t>::min(),
                         std::numeric_limits<std::int64_t>::max(), 1, host.device, DType::u8),
                  ShapeError);
}
