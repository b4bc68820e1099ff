#include "compute/cuda/reduce_plan.hpp"

#include <random>

#include "tests/support/catch.hpp"

using namespace forebay;
using cuda::plan_reduction;
using cuda::ReducePlan;

namespace {

void check_invariants(const ReducePlan& plan, std::int64_t kept, std::int64_t reduced) {
  INFO(kept << " rows of " << reduced << ", inner " << plan.inner);
  CHECK(plan.kept == kept);
  CHECK(plan.reduced == reduced);
  CHECK(plan.threads() <= cuda::kReduceThreads);
  CHECK(plan.chunk % ((std::int64_t{1} << plan.group_log2) * cuda::kStepElements) == 0);
  // Every element belongs to one chunk, and no chunk is empty but that of an empty row.
  CHECK(plan.chunk * plan.splits >= reduced);
  if (plan.splits > 1) CHECK(plan.chunk * (plan.splits - 1) < reduced);
  CHECK((plan.tiles << plan.columns_log2) >= kept);
  CHECK(((plan.tiles - 1) << plan.columns_log2) < kept);
  if (plan.splits > 1) {
    CHECK(plan.blocks() <= cuda::kSplitBlocks);
    CHECK(plan.partials() <= cuda::kSplitPartials);
  } else {
    CHECK(plan.partials() == 0);
  }
}

}  // namespace

TEST_CASE("the invariants of a reduction's plan hold for any shape") {
  std::mt19937_64 random(1);
  const auto extent = [&] {
    const std::int64_t size = std::int64_t{1} << random() % 20;
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(size)) + 1;
  };
  for (int round = 0; round < 20'000; ++round) {
    const std::int64_t kept = extent();
    const std::int64_t reduced = extent() * (round % 7 == 0 ? 1000 : 1);
    check_invariants(plan_reduction({kept, reduced}, 0b10), kept, reduced);
    check_invariants(plan_reduction({reduced, kept}, 0b01), kept, reduced);
  }
}

TEST_CASE("extents of one change nothing") {
  const auto same = [](const ReducePlan& a, const ReducePlan& b) {
    CHECK(a.inner == b.inner);
    CHECK(a.group_log2 == b.group_log2);
    CHECK(a.columns_log2 == b.columns_log2);
    CHECK(a.splits == b.splits);
    CHECK(a.chunk == b.chunk);
  };
  same(plan_reduction({300, 70'000}, 0b10), plan_reduction({300, 1, 70'000, 1}, 0b0100));
  same(plan_reduction({300, 70'000}, 0b10), plan_reduction({300, 1, 70'000, 1}, 0b1110));
  same(plan_reduction({70'000, 300}, 0b01), plan_reduction({70'000, 300, 1}, 0b101));
}

TEST_CASE("dimensions that lie together count as one, however they were collapsed") {
  const ReducePlan one = plan_reduction({903'168}, 0b1);
  const ReducePlan four = plan_reduction({32, 4, 84, 84}, 0b1111);
  CHECK(one.splits == four.splits);
  CHECK(one.chunk == four.chunk);
  CHECK(one.group_log2 == four.group_log2);
}

TEST_CASE("long rows are cut up, many rows are not") {
  CHECK(plan_reduction({1 << 28}, 0b1).splits > 1000);
  CHECK(plan_reduction({1 << 20, 64}, 0b01).splits > 100);
  CHECK(plan_reduction({4096}, 0b1).splits == 1);
  CHECK(plan_reduction({1 << 20, 64}, 0b10).splits == 1);
  // Many short rows share a block.
  CHECK(plan_reduction({1 << 20, 8}, 0b10).columns_log2 == 8);
}

TEST_CASE("an empty row is one chunk of nothing") {
  const ReducePlan plan = plan_reduction({5, 0}, 0b10);
  CHECK(plan.kept == 5);
  CHECK(plan.reduced == 0);
  CHECK(plan.splits == 1);
  CHECK(plan.blocks() == 1);
}
