#include "compute/cuda/kernel_arguments.hpp"

#include <cstring>
#include <random>

#include "forebay/pool/error.hpp"
#include "tests/compute/cuda/program_case.hpp"
#include "tests/compute/cuda/sample_programs.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using cuda::ArgumentBuffer;
using cuda::division_by;

TEST_CASE("the widest program within the limits fits the parameter space") {
  for (const bool reduced : {false, true}) {
    const compute::Program program = test::widest_program(reduced);
    REQUIRE(program.leaves.size() == cuda::kLimits.max_leaves);
    REQUIRE(program.code.size() == cuda::kLimits.max_ops);
    REQUIRE(program.outputs.size() == cuda::kLimits.max_outputs);
    compute::Binding binding = test::ProgramCase(program, {1, 2, 1, 2, 1, 2, 1, 2}).binding();
    binding.leaves.resize(program.leaves.size());
    binding.outputs.resize(program.outputs.size());
    const ArgumentBuffer arguments(program, binding, {});
    CHECK(arguments.size() <= cuda::kParameterBytes);
    // The limits are worth having only near what fits.
    CHECK(arguments.size() > cuda::kParameterBytes - 256);
    if (reduced) continue;
    cuda::LaunchChoices choices;
    choices.tiles.blocks = 1;
    const ArgumentBuffer tiled(program, binding, choices);
    CHECK(tiled.size() <= cuda::kParameterBytes);
    CHECK(tiled.size() > arguments.size());
  }
}

TEST_CASE("parameters beyond the space are an error, not an overrun") {
  compute::Program program;
  program.scalars.assign(2000, DType::f32);
  compute::Binding binding;
  binding.extents = {1};
  binding.scalars.assign(2000, 0);
  CHECK_THROWS_AS(ArgumentBuffer(program, binding, {}), Error);
}

TEST_CASE("more inputs than the limits fit as long as their parameters do, and then are refused") {
  for (const compute::Access access : {compute::Access::linear, compute::Access::strided}) {
    const bool strided = access == compute::Access::strided;
    std::uint32_t refused = 0;
    for (std::uint32_t leaves = cuda::kLimits.max_leaves - 1; refused == 0 && leaves < 1000;
         ++leaves) {
      compute::Limits parts = cuda::kLimits;
      parts.max_leaves = leaves;
      const compute::Program program = test::wide_program(parts, access, true, DType::f64);
      compute::Binding binding;
      binding.extents = {2, 2, 2, 2, 2, 2, 2, 2};
      binding.leaves.resize(leaves);
      binding.strides.assign(leaves, strided ? binding.extents : Dims());
      binding.scalars.resize(program.scalars.size());
      binding.outputs.resize(program.outputs.size());
      try {
        const ArgumentBuffer arguments(program, binding, {});
        CHECK(arguments.size() <= cuda::kParameterBytes);
      } catch (const Error&) {
        refused = leaves;
      }
    }
    // Strided, hardly one more; linear, an address each.
    CHECK(refused > cuda::kLimits.max_leaves);
    CHECK((refused < cuda::kLimits.max_leaves + 8) == strided);
  }
}

TEST_CASE("coordinates are narrow as far as blocks may look beyond the last element") {
  compute::Program program;
  program.leaves = {{DType::u8, compute::Access::linear}};
  program.outputs = {{0}};
  int memory = 0;
  const auto narrow = [&](const Dims& extents) {
    compute::Binding binding;
    binding.extents = extents;
    binding.leaves = {&memory};
    binding.outputs = {&memory};
    ArgumentBuffer arguments(program, binding, {});
    std::uint32_t flag = 0;
    std::memcpy(&flag, static_cast<const std::byte*>(arguments.data()) + 28, sizeof flag);
    return flag == 1;
  };
  constexpr std::int64_t kWide = (std::int64_t{1} << 31) - 1 - 65536;
  CHECK(narrow({kWide - 1}));
  CHECK_FALSE(narrow({kWide}));
  // By what is computed, whatever the one input has.
  CHECK_FALSE(narrow({1 << 20, 1 << 12}));
  CHECK(narrow({1 << 20, 1 << 10}));
  for (const std::int64_t around : {-1, 0, 1}) {
    CHECK_FALSE(narrow({(std::int64_t{1} << 31) + around}));
    CHECK_FALSE(narrow({(std::int64_t{1} << 32) + around}));
  }
}

TEST_CASE("parameters hold sizes, which the declaration does not") {
  compute::Program program;
  program.leaves = {{DType::f32, compute::Access::linear}};
  program.outputs = {{0}};
  CHECK(cuda::declare_arguments(program) ==
        "struct Args {\n  const float* leaf0;\n  float* out0;\n  long long count;\n"
        "  unsigned vector, narrow;\n};\n");
  compute::Binding binding;
  binding.extents = {12, 3};
  int source = 0;
  int target = 0;
  binding.leaves = {&source};
  binding.outputs = {&target};
  binding.strides = {{}};
  ArgumentBuffer arguments(program, binding, {.vector = true, .plan = {}, .tiles = {}});
  struct {
    const void* leaf;
    void* output;
    long long count;
    unsigned vector, narrow;
  } args;
  REQUIRE(arguments.size() == sizeof args);
  std::memcpy(&args, arguments.data(), sizeof args);
  CHECK(args.leaf == &source);
  CHECK(args.output == &target);
  CHECK(args.count == 36);
  CHECK(args.vector == 1);
  CHECK(args.narrow == 1);

  binding.extents = {1 << 16, 1 << 15};
  ArgumentBuffer wide(program, binding, {});
  std::memcpy(&args, wide.data(), sizeof args);
  CHECK(args.count == std::int64_t{1} << 31);
  CHECK(args.narrow == 0);
}

TEST_CASE("division by multiplication is exact below 2^31") {
  const auto divide = [](std::uint32_t n, cuda::Division by) {
    const auto high = static_cast<std::uint32_t>((std::uint64_t{n} * by.magic) >> 32);
    return (high + n) >> by.shift;
  };
  std::mt19937 random(7);
  constexpr std::uint32_t kMost = 0x7fffffffU;
  const auto check = [&](std::uint32_t divisor) {
    const cuda::Division by = division_by(divisor);
    for (const std::uint32_t n : {0U, 1U, divisor - 1, divisor, divisor + 1, kMost - 1, kMost,
                                  kMost / divisor * divisor, kMost / divisor * divisor - 1}) {
      if (n <= kMost && divide(n, by) != n / divisor) FAIL(n << " / " << divisor);
    }
    for (int i = 0; i < 16; ++i) {
      const auto n = static_cast<std::uint32_t>(random() & kMost);
      if (divide(n, by) != n / divisor) FAIL(n << " / " << divisor);
    }
  };
  for (std::uint32_t divisor = 1; divisor < 20'000; ++divisor) check(divisor);
  for (int i = 0; i < 20'000; ++i) check(static_cast<std::uint32_t>(random() & kMost) | 1U);
  for (unsigned bit = 0; bit < 31; ++bit) check(1U << bit);
  check(kMost);
  CHECK(divide(kMost, division_by(7)) == kMost / 7);
}
