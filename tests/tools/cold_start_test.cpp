#include "tools/forebay/cold_start.hpp"

#include <limits>
#include <numeric>

#include "forebay/runtime/runtime.hpp"
#include "tests/support/catch.hpp"
#include "tools/forebay/command.hpp"

using namespace forebay;
using namespace forebay::tools;

namespace {

ColdStart small_work() {
  ColdStart work;
  work.tensors = 5;
  work.loops = 2;
  work.shape = Dims{3, 7, 11};
  return work;
}

}  // namespace

TEST_CASE("sources are distinct buffers of zeros") {
  const ColdStart work = small_work();
  const auto sources = make_sources(work);
  REQUIRE(sources.size() == 5);
  for (std::size_t k = 0; k < sources.size(); ++k) {
    CHECK(sources[k] == std::vector<std::int32_t>(231, 0));
    if (k > 0) CHECK(sources[k].data() != sources[k - 1].data());
  }
}

TEST_CASE("work that no machine holds is refused before it starts") {
  ColdStart work = small_work();
  work.tensors = 1U << 20;
  work.shape = Dims{1 << 30, 1 << 16};
  CHECK_THROWS_AS(make_sources(work), UsageError);
  work.tensors = 1;
  CHECK_THROWS_AS(make_sources(work), Error);
}

TEST_CASE("every pass sums what every buffer holds, on every path") {
  Runtime runtime = Runtime::create();
  Device& device = runtime.device("host");
  ColdStart work = small_work();
  work.clone = GENERATE(false, true);
  work.through_host = GENERATE(false, true);
  auto sources = make_sources(work);
  float expected = 0;
  for (std::size_t k = 0; k < sources.size(); ++k) {
    for (std::size_t j = 0; j < sources[k].size(); ++j) {
      sources[k][j] = static_cast<std::int32_t>((31 * j + k) % 7);
      expected += static_cast<float>(sources[k][j] + 1);
    }
  }
  std::uint64_t passes = 0;
  run_cold_start(work, sources, device, [&](std::uint64_t i, const ColdStartPass& pass) {
    CHECK(i == passes++);
    CHECK(pass.sum == expected);
    CHECK(pass.elapsed_s >= pass.upload_s + pass.add_sum_s - 1e-9);
    // The results are alive, and nothing else of their size is.
    const std::uint64_t results = work.tensors * 231 * sizeof(float);
    CHECK(device.pool().stats().requested.current >= results);
    CHECK(device.pool().stats().allocations.live >= work.tensors);
    CHECK(device.pool().stats().requested.current < 2 * results);
  });
  CHECK(passes == 2);
  CHECK(device.pool().stats().allocations.live == 0);
}

TEST_CASE("empty tensors sum to nothing") {
  Runtime runtime = Runtime::create();
  ColdStart work = small_work();
  work.shape = Dims{0, 4};
  run_cold_start(work, make_sources(work), runtime.device("host"),
                 [](std::uint64_t, const ColdStartPass& pass) { CHECK(pass.sum == 0); });
}
