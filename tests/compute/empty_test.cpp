// Tensors of no elements and of one, and integers at their limit, on the host and interpreted.
#include "tests/compute/empty_cases.hpp"
#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::testing;

TEST_CASE("elementwise operations on nothing launch nothing, for every type and empty shape") {
  const Host host;
  check_empty_elementwise(host.device);
}

TEST_CASE("every reduction of nothing is its identity or an error, for every type and axis") {
  const Host host;
  check_empty_reductions(host.device);
}

TEST_CASE("parts, joins, products and normalisations of nothing are nothing, or zeros") {
  const Host host;
  check_empty_shaping(host.device);
}

TEST_CASE("one element is enough, whatever the rank") {
  const Host host;
  check_single_elements(host.device);
}

TEST_CASE("the least integer over minus one wraps, by a number and by a tensor") {
  const Host host;
  check_least_integers(host.device);
}
