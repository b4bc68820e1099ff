// The CUDA text of the kernels that write to views with strides, compiled as C++ for the emulator.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "compute/strided_copy.hpp"
#include "tests/compute/cuda/emulator.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/sparse_memory.hpp"

#define __CUDACC_RTC__ 1
#undef __launch_bounds__
#define __launch_bounds__(...)
#define FB_FN static inline

namespace forebay::test {
namespace {
#include "compute/strided_copy.inl"
}  // namespace

TEST_CASE("the kernels copy as the host does, whatever the number of blocks") {
  // Backwards, transposed, with gaps, repeated.
  const FbStridedCopy layout{.count = 5 * 7 * 19,
                             .extents = {5, 7, 19},
                             .target = {-60, 2, 400},
                             .source = {19, 0, 1},
                             .rank = 3};
  std::vector<std::uint16_t> source(5 * 19);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::uint16_t>(i + 1);
  const auto run = [&](const auto& copy) {
    std::vector<std::uint16_t> target(8000, 0);
    const std::uint16_t* from = source.data();
    std::uint16_t* to = target.data() + 300;
    copy(from, to);
    return target;
  };
  const std::vector<std::uint16_t> expected = run([&](const auto*& from, auto*& to) {
    FbStridedCopy l = layout;
    void* const arguments[] = {&from, &to, &l};
    compute::strided_copy_kernel(2).host(std::span<void* const>(arguments), 1);
  });
  CHECK(std::count(expected.begin(), expected.end(), 0) == 8000 - layout.count);
  for (const unsigned blocks : {1U, 2U, 3U, 4U}) {
    CHECK(run([&](const auto*& from, auto*& to) {
            emulate(blocks, 256, [&] { forebay_strided_copy_2(from, to, layout); });
          }) == expected);
  }
}

TEST_CASE("the kernels reach elements beyond 2^32") {
  constexpr std::int64_t kTwo32 = std::int64_t{1} << 32;
  const SparseMemory memory(static_cast<std::size_t>(kTwo32) + 1024);
  if (!memory) return;
  const unsigned char value = 7;
  // Each of the blocks has one turn; the last but one begins at 2^32.
  const FbStridedCopy layout{
      .count = kTwo32 + 300, .extents = {kTwo32 + 300}, .target = {1}, .source = {0}, .rank = 1};
  constexpr unsigned kBlocks = (1U << 24) + 2;
  const std::array<unsigned, 2> chosen{kBlocks - 2, kBlocks - 1};
  emulate_some(chosen, kBlocks, 256,
               [&] { forebay_strided_copy_1(&value, memory.at<unsigned char>(0), layout); });
  CHECK(*memory.at<unsigned char>(0) == 0);
  CHECK(*memory.at<unsigned char>(static_cast<std::size_t>(kTwo32)) == 7);
  CHECK(*memory.at<unsigned char>(static_cast<std::size_t>(kTwo32) + 299) == 7);
  CHECK(*memory.at<unsigned char>(static_cast<std::size_t>(kTwo32) + 300) == 0);
}

}  // namespace forebay::test
