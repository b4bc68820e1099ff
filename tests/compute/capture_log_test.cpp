#include "compute/capture_log.hpp"

#include <algorithm>

#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::testing;
using compute::CaptureLog;
using compute::Storage;

TEST_CASE("storage from before a capture is kept, each once, its own is not") {
  const Host host;
  const auto storage = [&](std::uint64_t capture) {
    auto made = std::make_shared<Storage>(host.device.shared_from_this(), 16);
    made->capture = capture;
    return made;
  };
  const auto inside = storage(7);
  const auto before = storage(0);
  const auto of_another_graph = storage(6);
  CaptureLog log(7);
  CHECK(log.number() == 7);
  for (int i = 0; i < 3; ++i) {
    log.keep(inside);
    log.keep(before);
    log.keep(of_another_graph);
  }
  const auto kept = log.take_kept();
  CHECK(kept.size() == 2);
  CHECK(std::find(kept.begin(), kept.end(), inside) == kept.end());
  CHECK(log.take_kept().empty());
}

TEST_CASE("where a capture writes is merged") {
  CaptureLog log(1);
  log.wrote({30, 40});
  log.wrote({10, 20});
  log.wrote({20, 30});
  const auto written = log.take_written();
  REQUIRE(written.size() == 1);
  CHECK(written[0].begin == 10);
  CHECK(written[0].end == 40);
  CHECK(log.take_written().empty());
}
