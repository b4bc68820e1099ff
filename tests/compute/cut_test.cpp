// Cutting expressions anywhere, on the host and interpreted.
#include "tests/compute/cut_cases.hpp"
#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::testing;

TEST_CASE("an expression has the same bits wherever it is cut") {
  const Host host;
  check_cuts(host.device, 1, 15);
}
