// Random graphs of operations against a reference that computes every element at once, in the order
// of the program text.
#include <random>

#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::testing;

namespace {

struct Plain {
  Dims shape;
  std::vector<float> values;
};

struct Pair {
  Tensor tensor;
  Plain plain;
};

class Game {
 public:
  Game(const Host& host, unsigned seed) : host_(host), random_(seed) {}

  void play(int steps) {
    for (int i = 0; i < 3; ++i) alive_.push_back(fresh(random_shape()));
    for (int i = 0; i < steps; ++i) {
      Pair next = step();
      if (below(5) == 0) next.tensor.eval();
      // Mostly forget: what nobody holds must not be needed.
      if (alive_.size() > 3 && below(3) != 0) {
        alive_[below(alive_.size())] = std::move(next);
      } else {
        alive_.push_back(std::move(next));
      }
    }
    for (const Pair& pair : alive_) {
      REQUIRE(pair.tensor.shape() == pair.plain.shape);
      REQUIRE(same(pair.tensor.to_host<float>(), pair.plain.values));
    }
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }

  Dims random_shape() {
    static const std::vector<Dims> shapes{{4, 3}, {3},    {4, 1},   {1, 3}, Dims(), {4, 3, 2},
                                          {2},    {1100}, {3, 700}, {700},  {0, 3}};
    return shapes[below(shapes.size())];
  }

  Pair fresh(const Dims& shape) {
    Plain plain{shape, {}};
    for (std::int64_t i = checked_numel(shape); i > 0; --i) {
      plain.values.push_back((static_cast<float>(below(13)) - 6.0F) * 0.375F);
    }
    return {host_.f32(plain.values, shape), plain};
  }

  // An element of a broadcast operand.
  static float at(const Plain& plain, const Dims& shape, std::size_t index) {
    auto rest = static_cast<std::int64_t>(index);
    std::int64_t offset = 0;
    std::int64_t stride = 1;
    for (std::size_t d = shape.size(); d-- > 0;) {
      const std::int64_t position = rest % shape[d];
      rest /= shape[d];
      const std::size_t lead = shape.size() - plain.shape.size();
      if (d < lead) continue;
      const std::int64_t extent = plain.shape[d - lead];
      if (extent != 1) offset += position * stride;
      stride *= extent;
    }
    return plain.values[static_cast<std::size_t>(offset)];
  }

  template <typename Function>
  static Plain combine(const Plain& a, const Plain& b, Function&& function) {
    Plain result{broadcast_shapes(a.shape, b.shape), {}};
    const auto n = static_cast<std::size_t>(checked_numel(result.shape));
    for (std::size_t i = 0; i < n; ++i) {
      result.values.push_back(function(at(a, result.shape, i), at(b, result.shape, i)));
    }
    return result;
  }

  // A partner that broadcasts with `a`; a fresh one if nobody does.
  Pair partner(const Pair& a) {
    for (int tries = 0; tries < 6; ++tries) {
      const Pair& b = alive_[below(alive_.size())];
      try {
        const Dims shape = broadcast_shapes(a.plain.shape, b.plain.shape);
        if (checked_numel(shape) <= 10'000) return b;
      } catch (const ShapeError&) {
      }
    }
    return fresh(a.plain.shape);
  }

  Pair binary(const Pair& a, const Pair& b) {
    switch (below(7)) {
      case 0:
        return {a.tensor + b.tensor, combine(a.plain, b.plain, std::plus<>())};
      case 1:
        return {a.tensor - b.tensor, combine(a.plain, b.plain, std::minus<>())};
      case 2:
        return {a.tensor * b.tensor, combine(a.plain, b.plain, std::multiplies<>())};
      case 3:
        return {a.tensor / b.tensor, combine(a.plain, b.plain, std::divides<>())};
      case 4:
        return {greater(a.tensor, b.tensor).to(DType::f32),
                combine(a.plain, b.plain, [](float x, float y) { return x > y ? 1.0F : 0.0F; })};
      case 5:
        return {maximum(a.tensor, b.tensor), combine(a.plain, b.plain, [](float x, float y) {
                  if (std::isnan(x) || std::isnan(y)) return x + y;
                  if (x == 0 && y == 0) return std::signbit(x) ? y : x;
                  return x > y ? x : y;
                })};
      default: {
        const Tensor condition = greater(b.tensor, a.tensor);
        return {where(condition, a.tensor, b.tensor),
                combine(a.plain, b.plain, [](float x, float y) { return y > x ? x : y; })};
      }
    }
  }

  Pair unary(const Pair& a) {
    Pair result{Tensor(), a.plain};
    switch (below(4)) {
      case 0:
        result.tensor = -a.tensor;
        for (float& v : result.plain.values) v = -v;
        break;
      case 1:
        result.tensor = relu(a.tensor);
        for (float& v : result.plain.values) v = v > 0 || std::isnan(v) ? v : 0.0F;
        break;
      case 2:
        result.tensor = sqrt(a.tensor);
        for (float& v : result.plain.values) v = std::sqrt(v);
        break;
      default:
        result.tensor = a.tensor * 0.5 + 1.25;
        for (float& v : result.plain.values) v = v * 0.5F + 1.25F;
        break;
    }
    return result;
  }

  Pair view(const Pair& a) {
    const Dims& shape = a.plain.shape;
    if (shape.size() < 2) {
      return {a.tensor.reshape({-1, 1}).reshape(shape), a.plain};
    }
    Dims turned = shape;
    std::swap(turned[shape.size() - 1], turned[shape.size() - 2]);
    Plain plain{turned, {}};
    const auto rows = static_cast<std::size_t>(shape[shape.size() - 2]);
    const auto columns = static_cast<std::size_t>(shape[shape.size() - 1]);
    const std::size_t matrix = std::max<std::size_t>(rows * columns, 1);
    for (std::size_t m = 0; m < a.plain.values.size() / matrix; ++m) {
      for (std::size_t j = 0; j < columns; ++j) {
        for (std::size_t i = 0; i < rows; ++i) {
          plain.values.push_back(a.plain.values[m * matrix + i * columns + j]);
        }
      }
    }
    return {a.tensor.transpose(), plain};
  }

  // The sum is compared with a double, then taken as it is.
  Pair sum(const Pair& a) {
    Pair result;
    const bool all = a.plain.shape.empty() || below(2) == 0;
    std::vector<int> axes;
    if (!all) axes.push_back(static_cast<int>(below(a.plain.shape.size())));
    result.tensor = a.tensor.sum(axes);
    result.plain = {result.tensor.shape(), result.tensor.to_host<float>()};
    if (all) {
      double exact = 0;
      double magnitude = 0;
      for (const float v : a.plain.values) {
        exact += v;
        magnitude += std::abs(v);
      }
      if (magnitude < 1e30) {
        REQUIRE(std::abs(result.plain.values[0] - exact) <= 1e-6 * magnitude);
      }
    }
    return result;
  }

  Pair step() {
    const Pair a = alive_[below(alive_.size())];
    switch (below(10)) {
      case 0:
        return view(a);
      case 1:
        return sum(a);
      case 2:
        return fresh(random_shape());
      case 3:
      case 4:
        return unary(a);
      default:
        return binary(a, partner(a));
    }
  }

  const Host& host_;
  std::mt19937 random_;
  std::vector<Pair> alive_;
};

}  // namespace

TEST_CASE("random programs agree with the reference, bit by bit") {
  Config config;
  config.fusion.max_height = 12;
  const Host narrow(config);
  const Host host;
  for (unsigned seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    Game(seed % 3 == 0 ? narrow : host, seed).play(40);
  }
  // With everything dropped, everything is free.
  CHECK(host.device.pool().stats().allocations.live == 0);
  CHECK(host.device.pool().stats().requested.current == 0);
}
