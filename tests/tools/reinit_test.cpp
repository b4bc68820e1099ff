#include "tools/forebay/reinit.hpp"

#include "forebay/runtime/runtime.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::tools;

namespace {

ReinitResult run(Reinit work) {
  Runtime runtime = Runtime::create();
  std::uint64_t reported = 0;
  bool ended = false;
  ReinitResult result = run_reinit(
      work, runtime.device("host"),
      [&](std::uint64_t iteration, double) { CHECK(iteration == reported++); },
      [&] { ended = true; });
  CHECK(reported == work.iters);
  CHECK(ended);
  CHECK(result.st_ms.size() == work.iters);
  CHECK(result.loss.size() == work.iters);
  return result;
}

Reinit small_work(std::uint64_t iters) {
  Reinit work;
  work.iters = iters;
  work.inner_steps = 2;
  return work;
}

std::string all(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace

TEST_CASE("which iteration the end is compared with") {
  CHECK(reinit_first_iteration(1500) == 100);
  CHECK(reinit_first_iteration(101) == 100);
  CHECK(reinit_first_iteration(100) == 10);
  CHECK(reinit_first_iteration(11) == 10);
  CHECK(reinit_first_iteration(10) == 0);
  CHECK(reinit_first_iteration(1) == 0);
}

TEST_CASE("a counter that grew is named with its numbers") {
  const ReinitCounters zero;
  const auto broken = [&](std::uint64_t ReinitCounters::*counter, std::uint64_t value, bool climb) {
    ReinitCounters last;
    last.*counter = value;
    return reinit_broken(zero, last, climb, 4096);
  };
  CHECK(reinit_broken(zero, zero, false, 0).empty());
  CHECK(broken(&ReinitCounters::live_blocks, 7, false) ==
        std::vector<std::string>{"live_blocks went from 0 to 7"});
  for (const auto counter :
       {&ReinitCounters::live_bytes, &ReinitCounters::tape_nodes, &ReinitCounters::events,
        &ReinitCounters::programs, &ReinitCounters::plans, &ReinitCounters::driver_calls,
        &ReinitCounters::compilations}) {
    CHECK(broken(counter, 1, true).size() == 1);
  }
  CHECK(broken(&ReinitCounters::held_bytes, 4096, true).empty());
  CHECK(broken(&ReinitCounters::held_bytes, 4097, true).size() == 1);
  CHECK(broken(&ReinitCounters::tensor_tables, 1, false).size() == 1);
  CHECK(broken(&ReinitCounters::tensor_tables, 1, true).empty());
  CHECK(broken(&ReinitCounters::driver_calls_all, 1, true).empty());
}

TEST_CASE("re-creation changes nothing for the network that stays, and nothing grows") {
  const ReinitResult flat = run(small_work(24));
  INFO(all(flat.broken));
  CHECK(flat.broken.empty());
  CHECK(flat.first_iteration == 10);
  CHECK(flat.loss.back() < flat.loss.front());
  CHECK(flat.last.live_blocks > 0);
  CHECK(flat.last.tensor_tables == 1);
  CHECK(flat.step_us > 0);
  CHECK(flat.train_step_us > flat.step_us);

  Reinit climb = small_work(24);
  climb.climb = true;
  const ReinitResult plain = run(climb);
  INFO(all(plain.broken));
  CHECK(plain.broken.empty());
  CHECK(plain.loss == flat.loss);
  CHECK(plain.last.live_blocks == flat.last.live_blocks);
  CHECK(plain.last.live_bytes == flat.last.live_bytes);
  CHECK(plain.last.tensor_tables == 1 + 24);

  climb.jitter = true;
  climb.random_drops = true;
  climb.enqueue_only = true;
  const ReinitResult jittered = run(climb);
  INFO(all(jittered.broken));
  CHECK(jittered.broken.empty());
  CHECK(jittered.loss == flat.loss);
  CHECK(jittered.last.live_bytes == flat.last.live_bytes);
}

TEST_CASE("more networks that stay change nothing for the first") {
  Reinit work = small_work(3);
  const ReinitResult one = run(work);
  work.networks = 3;
  work.climb = true;
  const ReinitResult three = run(work);
  CHECK(three.loss == one.loss);
  CHECK(three.last.live_blocks > one.last.live_blocks);
}
