// The logic of generated kernels, without a device: their text runs as C++ in an emulator of
// blocks, threads and barriers, and must compute what an element-by-element evaluation does.
#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "compute/cuda/codegen.hpp"
#include "tests/compute/cuda/emulated_run.hpp"
#include "tests/compute/cuda/sample_programs.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::test;

namespace {

cuda::LaunchPlan check_emulated(const std::string& name, const ProgramCase& data) {
  INFO(name << " over " << to_string(data.binding().extents));
  EmulatedCase run(data);
  cuda::LaunchPlan launch = emulate_generated(name, run);
  CHECK(run.check() == "");
  return launch;
}

compute::Program sample(const std::string& name) {
  for (const NamedProgram& named : sample_programs()) {
    if (named.name == name) return named.program;
  }
  throw Error("no sample " + name);
}

bool sums_reals(const compute::Program& program) {
  if (!program.reduction) return false;
  const auto rule = rule_of(program.reduction->op, program.type_of(program.reduction->value));
  return rule.identity != compute::Identity::highest &&
         rule.identity != compute::Identity::lowest && rule.total == DType::f64;
}

}  // namespace

TEST_CASE("emulated kernels compute what their programs say") {
  const std::array<std::int64_t, 12> lengths = {1, 3, 4, 5, 7, 16, 31, 64, 100, 129, 600, 2049};
  unsigned seed = 0;
  for (const NamedProgram& named : sample_programs()) {
    // Every mix of alignment and specials comes with every second program.
    for (unsigned n = 0; n < 3; ++n) {
      std::mt19937 random(++seed);
      const unsigned round = seed % 6;
      Dims extents;
      std::int64_t count = 1;
      for (unsigned d = 0; d < named.program.rank; ++d) {
        std::int64_t extent = lengths[random() % lengths.size()];
        if (named.program.rank == 1 && round % 2 == 0) extent = extent * 17 + 1;
        while (count * extent > 30'000 && extent > 1) extent = (extent + 1) / 2;
        extents.push_back(extent);
        count *= extent;
      }
      // Sums of specials are no test of sums.
      const bool specials = !sums_reals(named.program) && round % 2 == 0;
      const ProgramCase data(named.program, extents,
                             {.seed = seed, .specials = specials, .misaligned = round % 3});
      check_emulated(named.name, data);
    }
  }
}

TEST_CASE("runs of a strided leaf are read from wherever its strides lead") {
  for (const auto& [name, extents] : std::vector<std::pair<std::string, Dims>>{
           {"shifted", {9, 4, 64}}, {"shifted", {5, 12, 30}}, {"shifted_row_sums", {70, 96}}}) {
    const bool runs = extents[extents.size() - 1] % 4 == 0;
    std::set<bool> packed;
    for (unsigned seed = 1; seed <= 24; ++seed) {
      const ProgramCase data(sample(name), extents, {.seed = seed, .specials = false});
      const cuda::LaunchChoices choices = check_emulated(name, data).choices;
      CHECK(choices.vector == runs);
      packed.insert(choices.packed != 0);
    }
    CHECK(packed.size() == (runs ? 2 : 1));
  }
}

TEST_CASE("maps by tiles, whole ones and what is left at every edge") {
  unsigned tiled = 0;
  std::set<std::pair<bool, bool>> runs;  // by runs, some strided leaves too
  std::set<unsigned> copies;
  for (const NamedProgram& named : sample_programs()) {
    if (!cuda::may_tile(named.program)) continue;
    for (const Dims& extents : tiled_extents(named.program.rank)) {
      for (unsigned seed = 1; seed <= 16; ++seed) {
        const ProgramCase data(named.program, extents,
                               {.seed = seed, .specials = seed % 2 == 0, .misaligned = seed % 3});
        if (cuda::plan_staged(data.program(), data.binding()).blocks == 0) continue;
        const cuda::LaunchChoices choices = check_emulated(named.name, data).choices;
        runs.insert({choices.vector, choices.packed != 0});
        copies.insert(choices.copy_log2);
        ++tiled;
        if (!named.name.starts_with("turned")) continue;
        EmulatedCase run(data);
        run.write_over(1, 1);
        emulate_generated(named.name, run);
        CHECK(run.check() == "");
      }
    }
  }
  CHECK(tiled > 200);
  CHECK(runs == std::set<std::pair<bool, bool>>{{false, false}, {true, false}, {true, true}});
  CHECK(copies == std::set<unsigned>{0, 1, 2, 3, 4});
}

TEST_CASE("emulated reductions of every shape: short and long rows, split and whole") {
  struct Shape {
    std::string name;
    Dims extents;
  };
  const std::vector<Shape> shapes = {
      {"sum_all", {1}},
      {"sum_all", {7}},
      {"sum_all", {2048}},
      {"sum_all", {2049}},
      {"sum_all", {100'003}},
      {"sum_all", {131'072}},
      {"sum_whole", {70'001}},
      {"sum_rows", {3, 20'000}},
      {"sum_rows", {1000, 3}},
      {"sum_rows", {129, 64}},
      {"sum_rows", {1, 9000}},
      {"sum_columns", {20'000, 3}},
      {"sum_columns", {300, 40}},
      {"sum_columns", {3, 5000}},
      {"sum_columns", {4000, 33}},
      {"sum_middle", {5, 900, 7}},
      {"sum_ends", {40, 6, 50}},
      {"sum_ends", {300, 2, 100}},
      {"sum_nothing", {40, 50}},
      {"sum_stored", {4, 10'000}},
      {"sum_stored", {5, 5001}},
      {"sum_all_strided", {301, 173}},
  };
  std::set<std::pair<bool, bool>> kinds;  // split, along the row
  for (const Shape& shape : shapes) {
    for (const unsigned misaligned : {0U, 1U}) {
      const ProgramCase data(sample(shape.name), shape.extents,
                             {.seed = 3, .misaligned = misaligned});
      const cuda::ReducePlan plan = check_emulated(shape.name, data).choices.plan;
      kinds.insert({plan.splits > 1, plan.inner});
    }
  }
  CHECK(kinds.size() == 4);
}

TEST_CASE("emulated reductions of nothing give the identity") {
  for (const auto& [name, extents] : std::vector<std::pair<std::string, Dims>>{
           {"sum_all", {0}}, {"sum_rows", {5, 0}}, {"sum_columns", {0, 5}}, {"sum_rows", {0, 5}}}) {
    check_emulated(name, ProgramCase(sample(name), extents));
  }
}

TEST_CASE("a sum has the same bits wherever its data lies and whatever was fused in front") {
  // The same numbers, read as one row of contiguous memory, from an unaligned address and through
  // the general form for strides.
  const auto bits = [](const std::string& name, const Dims& extents, unsigned misaligned,
                       const std::vector<float>& numbers, bool contiguous) {
    const compute::Program program = sample(name);
    compute::Binding binding;
    binding.extents = extents;
    const std::size_t offset = misaligned * sizeof(float);
    CaseBuffer buffer{std::vector<std::byte>(numbers.size() * sizeof(float) + offset), offset};
    std::memcpy(buffer.bytes.data() + offset, numbers.data(), numbers.size() * sizeof(float));
    const AlignedBytes leaf(buffer);
    binding.leaves = {leaf.first};
    binding.strides = {contiguous ? Dims{} : contiguous_strides(extents)};
    std::uint32_t result = 0;
    binding.reduction = &result;
    cuda::LaunchPlan launch = cuda::plan_launch(program, cuda::kernel_shape(program), binding, 132);
    Scratch scratch;
    launch.choices.partials = scratch.of(launch.choices.plan);
    cuda::ArgumentBuffer arguments(program, binding, launch.choices);
    emulate(
        launch.blocks, launch.threads,
        [&] { emulated_kernel(name.c_str())->thread(arguments.data()); },
        launch.choices.plan.waiting());
    return result;
  };
  std::mt19937 random(5);
  std::vector<float> numbers(301 * 173);
  for (float& number : numbers) number = std::uniform_real_distribution<float>(-1, 1)(random);
  const std::uint32_t want = bits("sum_all", {301 * 173}, 0, numbers, true);
  CHECK(bits("sum_all", {301 * 173}, 1, numbers, true) == want);
  CHECK(bits("sum_all_strided", {301, 173}, 0, numbers, false) == want);
  std::reverse(numbers.begin(), numbers.end());
  INFO("another order of the numbers gives another rounding, or this test sees nothing");
  CHECK(bits("sum_all", {301 * 173}, 0, numbers, true) != want);
}
