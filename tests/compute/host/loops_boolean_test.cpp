#include "tests/compute/host/loops_check.hpp"

using namespace forebay;
using namespace forebay::testing;

TEST_CASE("loops of boolean do what the prelude does") {
  CHECK(check_loops(compute::host::loops_boolean()) == operations_of(DType::boolean));
}
