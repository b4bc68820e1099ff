#include "tests/compute/host/loops_check.hpp"

using namespace forebay;
using namespace forebay::testing;

TEST_CASE("loops of u8 do what the prelude does") {
  CHECK(check_loops(compute::host::loops_u8()) == operations_of(DType::u8));
}
