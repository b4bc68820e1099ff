#include "tests/compute/host/loops_check.hpp"

using namespace forebay;
using namespace forebay::testing;

TEST_CASE("loops of f32 do what the prelude does") {
  CHECK(check_loops(compute::host::loops_f32()) == operations_of(DType::f32));
}
