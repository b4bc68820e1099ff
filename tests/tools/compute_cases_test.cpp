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
  for (const char* name : {"copy",
                           "add",
                           "add_f64",
                           "add_f16",
                           "add_bf16",
                           "add_i64",
                           "add_i32",
                           "add_u8",
                           "add_bool",
                           "triad",
                           "chain1",
                           "chain3",
                           "chain10",
                           "chain40",
                           "strided",
                           "strided_f64",
                           "strided_f16",
                           "strided_bf16",
                           "strided_i64",
                           "strided_i32",
                           "strided_u8",
                           "strided_bool",
                           "reversed",
                           "transposed",
                           "permuted",
                           "broadcast_row",
                           "dot",
                           "sum",
                           "row_sum",
                           "column_sum",
                           "transposed_f64",
                           "transposed_f16",
                           "transposed_u8"}) {
    INFO(name);
    CHECK(names.count(name) == 1);
    CHECK(compute_case(name, 1 << 20).name == name);
  }
  CHECK(names.size() == 33);
  CHECK(leaf_elements(1 << 20) == (1 << 20) / 4096 * 4160);
}

TEST_CASE("views stay inside of their arrays") {
  for (const ComputeCase& one : compute_cases(1 << 20)) {
    INFO(one.name);
    for (std::size_t k = 0; k < one.strides.size(); ++k) {
      if (one.program.leaves[k].access != compute::Access::strided) continue;
      std::int64_t lowest = one.first;
      std::int64_t highest = one.first;
      for (std::size_t d = 0; d < one.extents.size(); ++d) {
        const std::int64_t reach = one.strides[k][d] * (one.extents[d] - 1);
        (reach < 0 ? lowest : highest) += reach;
      }
      CHECK(lowest >= 0);
      const auto size = static_cast<std::int64_t>(size_of(one.program.leaves[k].type));
      CHECK((highest + 1) * size <= leaf_elements(1 << 20) * 4);
    }
  }
}
