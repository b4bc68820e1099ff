// Special numbers as constants of expressions, on the host and interpreted.
#include "tests/compute/constant_cases.hpp"
#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::testing;

TEST_CASE("infinity, NaN and the least integers are the same beside a tensor and as one") {
  const Host host;
  check_special_constants(host.device, host.device);
}

TEST_CASE("special numbers survive without a tensor, as fills and as folded expressions") {
  const Host host;
  for (const DType type : kAllTypes) {
    for (const SpecialConstant& constant : special_constants(type)) {
      INFO(constant.name << " of " << to_string(type));
      const Tensor lazy = full({5}, constant.value, host.device, type);
      const Tensor stored = full({5}, constant.value, host.device, type).eval();
      CHECK(bits_of_all({lazy}) == bits_of_all({stored}));
      // Of constants alone, so that it is folded; then the same of stored ones.
      std::vector<Tensor> folded =
          with_constant(lazy, full({5}, constant.value, host.device, type));
      std::vector<Tensor> computed = with_constant(stored, stored);
      CHECK(bits_of_all(folded) == bits_of_all(computed));
    }
  }
}
