#include "tools/forebay/touch.hpp"

#include "forebay/runtime/runtime.hpp"
#include "runtime/simulated/simulated_device.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::tools;

TEST_CASE("memory that is there can be touched, simulated memory cannot") {
  Runtime runtime = Runtime::create();
  CHECK(make_touch(runtime.device("host"), {}) != nullptr);
  CHECK(make_touch(*simulated::SimulatedDevice::open({}, 0), {}) == nullptr);
}
