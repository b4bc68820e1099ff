#include "tests/compute/host/loops_check.hpp"

using namespace forebay;
using namespace forebay::testing;

TEST_CASE("loops of i32 do what the prelude does") {
  CHECK(check_loops(compute::host::loops_i32()) == operations_of(DType::i32));
}
