// Arrays, table and state of one Adam for tests of the bare kernel, on the host.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "nn/adam_kernel.hpp"

namespace forebay::testing {

inline nn::FbAdamState adam_start(double beta1 = 0.9, double beta2 = 0.999) {
  nn::FbAdamState state{};
  state.beta1 = beta1;
  state.beta2 = beta2;
  state.weight1 = static_cast<float>(1 - beta1);
  state.weight2 = static_cast<float>(1 - beta2);
  state.eps = 1e-8F;
  return state;
}

/// Tensors of given sizes, each array beginning `skew` floats (one number for each of p, g, m, v)
/// behind a 16-byte border.
class AdamBench {
 public:
  using Skews = std::array<std::size_t, 4>;

  AdamBench(const std::vector<std::size_t>& sizes, const Skews& skews) {
    std::mt19937 random(11);
    std::normal_distribution<float> normal;
    for (const std::size_t size : sizes) {
      Arrays& arrays = tensors_.emplace_back();
      for (std::size_t a = 0; a < 4; ++a) {
        arrays.storage[a].assign(size + 16, kBorder);
        const auto address = reinterpret_cast<std::uintptr_t>(arrays.storage[a].data());
        arrays.begin[a] = (16 - address % 16) % 16 / 4 + skews[a];
        for (std::size_t i = 0; i < size; ++i) {
          arrays.storage[a][arrays.begin[a] + i] = a < 2 ? normal(random) : 0.0F;
        }
      }
      arrays.powers.fill(nn::fb_adam_powers(state.beta1, state.beta2));
      arrays.size = size;
    }
  }

  using Run = std::function<void(std::span<void* const> arguments, unsigned blocks)>;
  void step(const Run& run, unsigned blocks) {
    std::vector<nn::FbAdamRow> rows;
    std::vector<nn::FbAdamChunk> chunks;
    for (Arrays& arrays : tensors_) {
      for (unsigned c = 0; c * std::size_t{FB_ADAM_CHUNK} < arrays.size; ++c) {
        chunks.push_back({static_cast<unsigned>(rows.size()), c});
      }
      const auto at = [&](std::size_t a) { return arrays.storage[a].data() + arrays.begin[a]; };
      rows.push_back(
          {at(0), at(1), at(2), at(3), arrays.powers.data(), static_cast<long long>(arrays.size)});
    }
    const nn::FbAdamRow* row_table = rows.data();
    const nn::FbAdamChunk* chunk_table = chunks.data();
    auto count = static_cast<unsigned>(chunks.size());
    const float* rate = &lr;
    nn::FbAdamState* progress = &state;
    const std::array<void*, 5> arguments{&row_table, &chunk_table, &count, &rate, &progress};
    run(arguments, blocks);
  }

  /// Parameters and moments of every tensor.
  [[nodiscard]] std::vector<float> values() const {
    std::vector<float> all;
    for (const Arrays& arrays : tensors_) {
      for (const std::size_t a : {0, 2, 3}) {
        const auto first = arrays.storage[a].begin() + static_cast<std::ptrdiff_t>(arrays.begin[a]);
        all.insert(all.end(), first, first + static_cast<std::ptrdiff_t>(arrays.size));
      }
    }
    return all;
  }
  /// Whether everything around the arrays is untouched.
  [[nodiscard]] bool borders_hold() const {
    for (const Arrays& arrays : tensors_) {
      for (std::size_t a = 0; a < 4; ++a) {
        for (std::size_t i = 0; i < arrays.storage[a].size(); ++i) {
          const bool inside = i >= arrays.begin[a] && i < arrays.begin[a] + arrays.size;
          if (!inside && arrays.storage[a][i] != kBorder) return false;
        }
      }
    }
    return true;
  }
  [[nodiscard]] const std::array<nn::FbAdamPowers, 2>& powers(std::size_t tensor) const {
    return tensors_[tensor].powers;
  }

  nn::FbAdamState state = adam_start();
  float lr = 1e-3F;

 private:
  static constexpr float kBorder = 777.0F;
  struct Arrays {
    std::array<std::vector<float>, 4> storage;
    std::array<std::size_t, 4> begin{};
    std::array<nn::FbAdamPowers, 2> powers;
    std::size_t size = 0;
  };
  std::vector<Arrays> tensors_;
};

}  // namespace forebay::testing
