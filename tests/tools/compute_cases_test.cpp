#include "tools/forebay/compute_cases.hpp"

#include <algorithm>
#include <set>

#include "forebay/compute/backend.hpp"
#include "forebay/runtime/runtime.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::tools;

TEST_CASE("the cases are named once, and count their operations and bytes") {
  const std::vector<ComputeCase> cases = compute_cases(1 << 20);
  std::set<std::string> names;
  for (const ComputeCase& one : cases) {
    INFO(one.name);
    CHECK(names.insert(one.name).second);
    CHECK(one.elements == 1 << 20);
    std::int64_t elements = 1;
    for (const std::int64_t extent : one.extents) elements *= extent;
    CHECK(elements == one.elements);
    const bool reduces = one.program.reduction.has_value();
    CHECK(one.bytes == (one.name == "add" ? 12U : reduces ? 4U : 8U) << 20);
    if (one.name.rfind("chain", 0) == 0) {
      CHECK(std::to_string(one.program.code.size()) == one.name.substr(5));
    }
  }
  for (const char* name : {"copy", "add", "chain1", "chain3", "chain10", "chain40", "strided",
                           "broadcast_row", "sum", "row_sum", "column_sum"}) {
    CHECK(names.count(name) == 1);
  }
  CHECK(leaf_elements(1 << 20) == (1 << 20) / 4096 * 4160);
}

TEST_CASE("there is a case for every other type, each of as many bytes") {
  std::set<std::string> names;
  for (const ComputeCase& one : typed_cases(1 << 20)) {
    INFO(one.name);
    CHECK(names.insert(one.name).second);
    CHECK(one.bytes == 8U << 20);
    const DType type = one.program.leaves[0].type;
    CHECK(one.elements * static_cast<std::int64_t>(size_of(type)) == 4 << 20);
    CHECK(one.program.type_of(one.program.outputs[0].value) == type);
  }
  CHECK(names.size() == 7);
}

TEST_CASE("the plain loop and the host executor compute the same") {
  Runtime runtime = Runtime::create();
  Device& device = runtime.device("host");
  compute::Backend& backend = compute::backend_of(device);
  constexpr std::int64_t kElements = 5 * 4096;
  for (const ComputeCase& one : compute_cases(kElements)) {
    INFO(one.name);
    std::vector<std::vector<float>> arrays(
        3, std::vector<float>(static_cast<std::size_t>(leaf_elements(kElements))));
    for (std::size_t k = 0; k < 2; ++k) {
      for (std::size_t i = 0; i < arrays[k].size(); ++i) {
        arrays[k][i] = static_cast<float>((i * (k + 3)) % 17);  // sums are exact
      }
    }
    compute::Binding binding{.extents = one.extents,
                             .leaves = {},
                             .strides = one.strides,
                             .scalars = one.scalars,
                             .outputs = {}};
    for (std::size_t k = 0; k < one.program.leaves.size(); ++k) {
      binding.leaves.push_back(arrays[k].data());
    }
    binding.outputs.assign(one.program.outputs.size(), arrays[2].data());
    if (one.program.reduction) binding.reduction = arrays[2].data();
    REQUIRE(backend.executors().back()->run(one.program, binding, device.default_stream()) ==
            compute::Readiness::done);
    std::vector<float> loop(arrays[2].size());
    run_plain_loop(one, {arrays[0].data(), arrays[1].data()}, loop.data());
    CHECK(loop == arrays[2]);
    CHECK(std::any_of(loop.begin(), loop.end(), [](float x) { return x != 0; }));
  }
}
