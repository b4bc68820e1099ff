#include "tools/forebay/compute_cases.hpp"

#include <set>

#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::tools;

TEST_CASE("the cases are named once, and count their operations and bytes") {
  const std::vector<ComputeCase> cases = compute_cases(1 << 20);
  std::set<std::string> names;
  for (const ComputeCase& one : cases) {
    INFO(one.name);
    CHECK(names.insert(one.name).second);
    const auto size = static_cast<std::int64_t>(size_of(one.program.leaves[0].type));
    CHECK(one.elements * size == 4 << 20);
    std::int64_t elements = 1;
    for (const std::int64_t extent : one.extents) elements *= extent;
    CHECK(elements == one.elements);
    const bool reduces = one.program.reduction.has_value();
    const std::uint64_t arrays = one.program.leaves.size() - (one.name == "broadcast_row" ? 1 : 0);
    CHECK(one.bytes == (arrays + (reduces ? 0 : 1)) * 4 << 20);
    if (one.name.rfind("chain", 0) == 0) {
      CHECK(std::to_string(one.program.code.size()) == one.name.substr(5));
    }
  }
  for (const char* name :
       {"copy",    "add",           "add_f64", "add_f16", "add_bf16", "add_i64",   "add_i32",
        "add_u8",  "add_bool",      "triad",   "chain1",  "chain3",   "chain10",   "chain40",
        "strided", "broadcast_row", "dot",     "sum",     "row_sum",  "column_sum"}) {
    CHECK(names.count(name) == 1);
    CHECK(compute_case(name, 1 << 20).name == name);
  }
  CHECK(names.size() == 20);
  CHECK(leaf_elements(1 << 20) == (1 << 20) / 4096 * 4160);
}
