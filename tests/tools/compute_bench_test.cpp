#include "tools/forebay/compute_bench.hpp"

#include "forebay/runtime/runtime.hpp"
#include "tests/support/catch.hpp"
#include "tools/forebay/command.hpp"

using namespace forebay;
using namespace forebay::tools;

TEST_CASE("the compute bench measures every case, and gives back what it took") {
  Runtime runtime = Runtime::create();
  Device& device = runtime.device("host");
  std::vector<std::string> lines;
  const ComputeResults results =
      run_compute_bench({.mib = 1, .repeats = 2, .calls = 100, .queued = 64}, device,
                        [&](const std::string& line) { lines.push_back(line); });
  // 30 cases of which 13 have no plain loop; the backend's copy, STREAM's triad and softmax.
  CHECK(results.rows.size() == 33 + 17 + 3);
  CHECK(results.launches.size() == 5);
  CHECK(results.planning.size() == 4);
  CHECK(lines.size() == results.rows.size() + results.launches.size() + results.planning.size());
  double best = 0;
  for (const ComputeRow& row : results.rows) {
    INFO(row.name << " " << row.tier);
    CHECK(row.median_s > 0);
    CHECK(row.gb_per_s == Approx(1e-9 * static_cast<double>(row.bytes) / row.median_s));
    CHECK(row.of_copy == Approx(row.gb_per_s / results.copy_gb_per_s));
    if (row.name == "copy") best = std::max(best, row.gb_per_s);
  }
  CHECK(results.copy_gb_per_s == best);
  for (const LaunchRow& row : results.launches) CHECK(row.us > 0);
  CHECK(device.pool().stats().allocations.live == 0);
}

TEST_CASE("arrays that do not fit are refused before anything is taken") {
  Runtime runtime = Runtime::create();
  CHECK_THROWS_AS(
      run_compute_bench({.mib = 1U << 30}, runtime.device("host"), [](const std::string&) {}),
      UsageError);
}
