#include "tools/forebay/planning_bench.hpp"

#include "forebay/runtime/runtime.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::tools;

TEST_CASE("planning is measured for queues of every length") {
  Runtime runtime = Runtime::create();
  Device& device = runtime.device("host");
  std::size_t reported = 0;
  const std::vector<PlanningRow> rows =
      run_planning_bench(device, 64, 1024, [&](const PlanningRow&) { ++reported; });
  REQUIRE(rows.size() == 8);
  CHECK(reported == 8);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CHECK(rows[i].name == (i < 4 ? "independent" : "chain"));
    CHECK(rows[i].queued == 16U << 2 * (i % 4));
    CHECK(rows[i].us_per_op > 0);
  }
  CHECK(device.pool().stats().allocations.live == 0);
}

TEST_CASE("a queue of any length takes its share of launches and no more") {
  Runtime runtime = Runtime::create();
  for (const PlanningRow& row : run_planning_bench(runtime.device("host"), 64, 1024)) {
    INFO(row.name << " of " << row.queued);
    CHECK(row.launches_per_op <= (row.name == "independent" ? 0.125 : 0.0625));
    CHECK(row.launches_per_op > 0);
  }
}
