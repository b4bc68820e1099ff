// One parameter of more than 2^31 elements for tests of the bare kernel: only the chunks around
// 2^31 and at the ends are run, and only their pages are memory.
#pragma once

#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "nn/adam_kernel.hpp"
#include "tests/nn/adam_bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/sparse_memory.hpp"

namespace forebay::testing {

class WideAdam {
 public:
  static constexpr std::int64_t kCount = (std::int64_t{1} << 31) + FB_ADAM_CHUNK + 3;
  static constexpr unsigned kAt2To31 = (1U << 31) / FB_ADAM_CHUNK;

  WideAdam() {
    powers_.fill(nn::fb_adam_powers(state_.beta1, state_.beta2));
    for (const unsigned chunk : {0U, kAt2To31 - 1, kAt2To31, kAt2To31 + 1}) {
      chunks_.push_back({0, chunk});
    }
  }
  /// Whether there are addresses enough.
  [[nodiscard]] explicit operator bool() const noexcept { return p_ && g_ && m_ && v_; }

  /// The elements of the chosen chunks, three steps of Adam later.
  [[nodiscard]] std::vector<float> run(const AdamBench::Run& kernel, unsigned blocks) {
    each([&](std::size_t i) { *g_.at<float>(i) = i % 2 == 0 ? 1.0F : -0.5F; });
    const nn::FbAdamRow row{p_.at<float>(), g_.at<float>(), m_.at<float>(),
                            v_.at<float>(), powers_.data(), kCount};
    const nn::FbAdamRow* rows = &row;
    const nn::FbAdamChunk* chunks = chunks_.data();
    auto count = static_cast<unsigned>(chunks_.size());
    const float* rate = &lr_;
    nn::FbAdamState* progress = &state_;
    const std::array<void*, 5> arguments{&rows, &chunks, &count, &rate, &progress};
    for (int step = 0; step < 3; ++step) kernel(arguments, blocks);
    std::vector<float> values;
    each([&](std::size_t i) { values.push_back(*p_.at<float>(i)); });
    return values;
  }

 private:
  template <typename Work>
  void each(const Work& work) const {
    for (const nn::FbAdamChunk& chunk : chunks_) {
      const std::size_t begin = std::size_t{chunk.index} * FB_ADAM_CHUNK;
      const std::size_t end = std::min<std::size_t>(begin + FB_ADAM_CHUNK, kCount);
      for (std::size_t i = begin; i < end; ++i) work(i);
    }
  }

  static constexpr std::size_t kBytes = static_cast<std::size_t>(kCount) * sizeof(float);
  test::SparseMemory p_{kBytes}, g_{kBytes}, m_{kBytes}, v_{kBytes};
  std::array<nn::FbAdamPowers, 2> powers_;
  std::vector<nn::FbAdamChunk> chunks_;
  nn::FbAdamState state_ = adam_start();
  float lr_ = 1e-3F;
};

/// Every element of the chosen chunks has moved by three steps against its gradient's sign.
inline void check_moved(const std::vector<float>& values) {
  REQUIRE(values.size() == 3 * FB_ADAM_CHUNK + 3);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float want = i % 2 == 0 ? -3e-3F : 3e-3F;
    wrong += std::abs(values[i] - want) <= 1e-6F ? 0 : 1;
  }
  CHECK(wrong == 0);
}

}  // namespace forebay::testing
