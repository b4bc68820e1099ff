#include "tools/forebay/plain_loops.hpp"

#include <algorithm>
#include <cstring>

#include "forebay/compute/backend.hpp"
#include "forebay/runtime/runtime.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::tools;

namespace {

// Small whole numbers, so that sums are exact.
void fill(std::vector<float>& array, DType type, std::size_t factor) {
  auto* const bytes = reinterpret_cast<std::byte*>(array.data());
  for (std::size_t i = 0; i < array.size() * sizeof(float) / size_of(type); ++i) {
    const std::size_t number = i * factor % 17;
    if (type == DType::f32) {
      array[i] = static_cast<float>(number);
    } else if (type == DType::f64) {
      const auto wide = static_cast<double>(number);
      std::memcpy(bytes + i * sizeof wide, &wide, sizeof wide);
    } else {
      bytes[i] = static_cast<std::byte>(number * 13);  // sums wrap
    }
  }
}

}  // namespace

TEST_CASE("the plain loop and the host executor compute the same") {
  Runtime runtime = Runtime::create();
  Device& device = runtime.device("host");
  compute::Backend& backend = compute::backend_of(device);
  constexpr std::int64_t kElements = 5 * 4096;
  std::size_t loops = 0;
  for (const ComputeCase& one : compute_cases(kElements)) {
    INFO(one.name);
    const DType type = one.program.leaves[0].type;
    const bool no_loop = type == DType::f16 || type == DType::bf16 || type == DType::boolean ||
                         one.name.rfind("strided_", 0) == 0 || one.name == "reversed" ||
                         one.name.rfind("transposed", 0) == 0 || one.name == "permuted";
    REQUIRE((one.loop == nullptr) == no_loop);
    if (one.loop == nullptr) continue;
    ++loops;
    std::vector<std::vector<float>> arrays(
        3, std::vector<float>(static_cast<std::size_t>(leaf_elements(kElements))));
    for (std::size_t k = 0; k < 2; ++k) fill(arrays[k], type, k + 3);
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
    one.loop(one, binding.leaves, loop.data());
    CHECK(std::memcmp(loop.data(), arrays[2].data(), loop.size() * sizeof(float)) == 0);
    CHECK(std::any_of(loop.begin(), loop.end(), [](float x) { return x != 0; }));
  }
  CHECK(loops == 17);
}

TEST_CASE("STREAM's triad") {
  std::vector<double> a(5), b{1, 2, 3, 4, 5}, c{1, 0, -1, 2, 3};
  stream_triad(a.data(), b.data(), c.data(), 3, 5);
  CHECK(a == std::vector<double>{4, 2, 0, 10, 14});
}
