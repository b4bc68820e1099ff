// Where an expression is cut into launches must not show in its bits: random graphs of operations,
// views and reductions, evaluated as they fuse, node by node, and cut at random.
#pragma once

#include <array>
#include <random>
#include <vector>

#include "forebay/compute/math.hpp"
#include "forebay/compute/normalize.hpp"
#include "forebay/compute/shaping.hpp"
#include "tests/compute/constant_cases.hpp"

namespace forebay::testing {

/// A graph drawn from a seed, built again for each way to cut it.
class CutGraph {
 public:
  enum class Cuts { none, everywhere, random };

  CutGraph(Device& device, unsigned seed) : device_(device), seed_(seed) {}

  /// The bits of what is alive at the end.
  [[nodiscard]] std::vector<std::uint64_t> bits(Cuts cuts, unsigned where = 0) const {
    std::mt19937 random(seed_);
    std::mt19937 cutting(where);
    constexpr DType kTypes[] = {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32};
    const DType type = kTypes[seed_ % std::size(kTypes)];
    std::vector<Tensor> alive;
    for (int i = 0; i < 3; ++i) alive.push_back(fresh(random, type));
    for (int step = 0; step < 24; ++step) {
      Tensor next = drawn(random, alive, type);
      const bool cut = cuts == Cuts::everywhere || (cuts == Cuts::random && cutting() % 3 == 0);
      if (cut) next.eval();
      // Mostly forget, so that what is fused is not stored as well.
      const std::size_t place = random() % alive.size();
      if (alive.size() >= 4 && random() % 4 != 0) {
        alive[place] = std::move(next);
      } else {
        alive.push_back(std::move(next));
      }
    }
    return bits_of_all(alive);
  }

 private:
  static constexpr std::int64_t kSide = 34;

  [[nodiscard]] Tensor fresh(std::mt19937& random, DType type) const {
    std::vector<double> values;
    for (std::int64_t i = 0; i < kSide * kSide; ++i) {
      values.push_back((static_cast<double>(random() % 2001) - 1000) / 64);
    }
    return from_host<double>(values, {kSide, kSide}, device_, type);
  }

  static Tensor drawn(std::mt19937& random, const std::vector<Tensor>& alive, DType type) {
    // One after the other: the order in which arguments are evaluated is the compiler's.
    const Tensor a = alive[random() % alive.size()];
    const Tensor b = alive[random() % alive.size()];
    const std::vector<int> axis{static_cast<int>(random() % 2)};
    const bool real = category_of(type) == Category::real;
    switch (random() % 14) {
      case 0:
        return a + b;
      case 1:
        return a * b;
      case 2:
        return maximum(a, b * 0.5F).to(type);
      case 3:
        return where(greater(a, b), a, b - a);
      case 4:
        return (a * 0.25F + 1.5F).to(type);
      case 5:
        return a.transpose() - b;
      case 6:
        return flip(a, axis[0]) * b;
      case 7:
        return a + b.sum(axis, true).to(type);
      case 8:
        return a - (real ? b.mean(axis, true) : b.max(axis, true)).to(type);
      case 9:
        return real ? softmax(a, axis[0]) : remainder(a, b);
      case 10:
        return real ? tanh(a) + sigmoid(b) : (a & b) | 3;
      case 11:
        return cat(std::array{narrow(a, 0, 10, kSide - 10), narrow(b, 0, 0, 10)}, 0);
      case 12:
        return ((a * a).sum() * 1e-3F).to(type) + b;
      default:
        return real ? exp(-abs(a)) * b : abs(a) - b;
    }
  }

  Device& device_;
  unsigned seed_;
};

inline void check_cuts(Device& device, unsigned first, unsigned count) {
  for (unsigned seed = first; seed < first + count; ++seed) {
    INFO("seed " << seed << " on " << device.id());
    const CutGraph graph(device, seed);
    const auto fused = graph.bits(CutGraph::Cuts::none);
    REQUIRE(fused == graph.bits(CutGraph::Cuts::everywhere));
    for (unsigned where = 1; where <= 3; ++where) {
      INFO("cut " << where);
      REQUIRE(fused == graph.bits(CutGraph::Cuts::random, where));
    }
  }
}

}  // namespace forebay::testing
