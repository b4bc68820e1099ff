// What blocks leave for each other, by threads that run at the same time.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "tests/compute/cuda/emulator.hpp"
#include "tests/support/catch.hpp"

namespace forebay::test {
namespace {
namespace kernels {

#include "compute/prelude.inl"
//
#include "compute/cuda/blocks.inl"

}  // namespace kernels

using Word = unsigned long long;

struct Best {
  double value;
  long long index;
};

}  // namespace

TEST_CASE("a total is collected once all of its words are there, and no sooner") {
  const Best best{1.5, 0x123456789abLL};
  std::vector<Word> left(4, 0);
  kernels::fb_leave(left.data(), best);
  for (const Word word : left) CHECK((word & 0xffffffffU) == 1);

  // One word after the other, in every order of two of them last.
  for (unsigned last = 0; last < 4; ++last) {
    std::vector<Word> place(4, 0);
    std::atomic<bool> began{false};
    std::atomic<bool> collected{false};
    Best got[1] = {};
    std::thread collector([&] {
      began = true;
      kernels::fb_collect(got, place.data(), 0, 1);
      collected = true;
    });
    while (!began) std::this_thread::yield();
    for (unsigned n = 1; n <= 4; ++n) {
      // Time for one that does not wait to show; one that does needs none.
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      CHECK_FALSE(collected);
      *static_cast<volatile Word*>(&place[(last + n) % 4]) = left[(last + n) % 4];
    }
    collector.join();
    CHECK(got[0].value == best.value);
    CHECK(got[0].index == best.index);
    CHECK(place == std::vector<Word>(4, 0));
  }
}

TEST_CASE("parts of all blocks' totals are joined in the order of the blocks, the last one's too") {
  const auto join = [](double a, double b) { return 3 * a + b; };  // no order but one gives this
  for (const unsigned group_log2 : {0U, 1U, 3U, 5U}) {
    const unsigned group = 1U << group_log2;
    for (unsigned splits = 2; splits < 70; ++splits) {
      std::vector<Word> place(2UL * splits, 0);
      for (unsigned s = 0; s + 1 < splits; ++s) {
        kernels::fb_leave(place.data() + 2UL * s, static_cast<double>(s % 7));
      }
      const double own = (splits - 1) % 7;
      for (unsigned member = 0; member < group; ++member) {
        double expected = 1;
        for (unsigned s = member; s < splits; s += group) expected = join(expected, s % 7);
        CHECK(kernels::fb_join_blocks(own, 1.0, place.data(), 2, splits, member, group_log2,
                                      join) == expected);
      }
      CHECK(place == std::vector<Word>(2UL * splits, 0));
    }
  }
}

TEST_CASE("totals of every size come back, those of one byte too") {
  std::vector<Word> place(4, 0);
  const auto through = [&](auto total) {
    decltype(total) got[1] = {};
    kernels::fb_leave(place.data(), total);
    kernels::fb_collect(got, place.data(), 0, 1);
    return got[0];
  };
  CHECK(through(true));
  CHECK_FALSE(through(false));
  CHECK(through(static_cast<unsigned char>(200)) == 200);
  CHECK(through(-7) == -7);
  CHECK(through(2.5F) == 2.5F);
  CHECK(through(-0x123456789LL) == -0x123456789LL);
}

}  // namespace forebay::test
