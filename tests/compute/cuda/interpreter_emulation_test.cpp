// The logic of the interpreter kernels, without a device: they compute what an element-by-element
// evaluation does, with the bits that the generated kernels give.
#include <array>

#include "compute/cuda/codegen.hpp"
#include "compute/cuda/interpreter_arguments.hpp"
#include "tests/compute/cuda/emulated_case.hpp"
#include "tests/compute/cuda/emulator.hpp"
#include "tests/compute/cuda/interpreted_kernels.hpp"
#include "tests/compute/cuda/sample_programs.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::test;
using cuda::Bytecode;
using cuda::InterpreterKernel;
using cuda::InterpreterPlan;

namespace {

constexpr std::size_t kH200Shared = 232448;

struct Interpreted {
  InterpreterPlan plan;
  Outcome outcome;
};

/// `large` takes the kernels for any program even where the fast ones would do.
Interpreted interpret(const ProgramCase& data, bool large = false) {
  EmulatedCase run(data);
  const Bytecode bytecode(data.program());
  Interpreted result;
  InterpreterPlan& plan = result.plan;
  plan = cuda::plan_interpretation(data.program(), bytecode, run.binding, 132, kH200Shared);
  REQUIRE(plan.possible);
  if (large && plan.kernel == InterpreterKernel::map) plan.kernel = InterpreterKernel::map_large;
  if (large && plan.kernel == InterpreterKernel::reduce) {
    plan.kernel = InterpreterKernel::reduce_large;
  }
  if (plan.launch.blocks == 0) return result;
  plan.launch.choices.scratch = run.scratch(plan.launch.choices.plan);
  cuda::InterpreterArguments arguments(data.program(), bytecode, run.binding, plan.launch.choices);
  emulate(plan.launch.blocks, plan.launch.threads,
          [&] { interpret_thread(plan.kernel, arguments.data()); });
  CHECK(run.check() == "");
  result.outcome = run.outcome();
  return result;
}

Outcome run_generated(const std::string& name, const ProgramCase& data) {
  const EmulatedKernel* const kernel = emulated_kernel(name.c_str());
  REQUIRE(kernel != nullptr);
  EmulatedCase run(data);
  cuda::LaunchPlan launch =
      cuda::plan_launch(data.program(), cuda::kernel_shape(data.program()), run.binding, 132);
  launch.choices.scratch = run.scratch(launch.choices.plan);
  cuda::ArgumentBuffer arguments(data.program(), run.binding, launch.choices);
  emulate(launch.blocks, launch.threads, [&] { kernel->thread(arguments.data()); });
  return run.outcome();
}

Dims draw_extents(std::mt19937& random, const compute::Program& program, bool longer) {
  static constexpr std::array<std::int64_t, 12> kLengths = {1,  3,  4,   5,   7,   16,
                                                            31, 64, 100, 129, 600, 2049};
  Dims extents;
  std::int64_t count = 1;
  for (unsigned d = 0; d < program.rank; ++d) {
    std::int64_t extent = kLengths[random() % kLengths.size()];
    if (program.rank == 1 && longer) extent = extent * 17 + 1;
    while (count * extent > 30'000 && extent > 1) extent = (extent + 1) / 2;
    extents.push_back(extent);
    count *= extent;
  }
  return extents;
}

}  // namespace

TEST_CASE("interpreted programs compute what they say, with the bits of generated kernels") {
  unsigned seed = 0;
  std::array<unsigned, cuda::kInterpreterKernels> kernels{};
  for (const NamedProgram& named : sample_programs()) {
    if (!cuda::interpretable(named.program)) continue;
    for (unsigned round = 0; round < 4; ++round) {
      std::mt19937 random(++seed);
      const Dims extents = draw_extents(random, named.program, round % 2 == 0);
      const bool specials = !named.program.reduction && round % 2 == 0;
      const ProgramCase data(named.program, extents,
                             {.seed = seed, .specials = specials, .misaligned = round % 3});
      INFO(named.name << " over " << to_string(extents));
      const Outcome generated = run_generated(named.name, data);
      for (const bool large : {false, true}) {
        const Interpreted one = interpret(data, large);
        ++kernels[static_cast<unsigned>(one.plan.kernel)];
        CHECK(data.same(one.outcome.buffers, generated.buffers));
        if (named.program.reduction) CHECK(one.outcome.mailbox == generated.mailbox);
      }
    }
  }
  for (const unsigned times : kernels) CHECK(times > 20);
}

TEST_CASE("interpreted reductions of every shape give the bits of generated kernels") {
  const std::vector<std::pair<std::string, Dims>> shapes = {{"sum_all", {1}},
                                                            {"sum_all", {2049}},
                                                            {"sum_all", {100'003}},
                                                            {"sum_whole", {70'001}},
                                                            {"sum_rows", {3, 20'000}},
                                                            {"sum_rows", {1000, 3}},
                                                            {"sum_columns", {20'000, 3}},
                                                            {"sum_columns", {4000, 33}},
                                                            {"sum_middle", {5, 900, 7}},
                                                            {"sum_ends", {300, 2, 100}},
                                                            {"sum_nothing", {40, 50}},
                                                            {"sum_stored", {4, 10'000}},
                                                            {"sum_stored", {5, 5001}},
                                                            {"sum_all_strided", {301, 173}}};
  for (const auto& [name, extents] : shapes) {
    for (const NamedProgram& named : sample_programs()) {
      if (named.name != name) continue;
      const ProgramCase data(named.program, extents, {.seed = 3});
      INFO(name << " over " << to_string(extents));
      const Outcome generated = run_generated(name, data);
      for (const bool large : {false, true}) {
        CHECK(data.same(interpret(data, large).outcome.buffers, generated.buffers));
      }
    }
  }
}

TEST_CASE("random programs are interpreted as the element-by-element evaluation says") {
  for (unsigned seed = 1000; seed < 1400; ++seed) {
    std::mt19937 random(seed);
    const compute::Program program = random_word_program(seed);
    const ProgramCase data(program, draw_extents(random, program, true),
                           {.seed = seed, .misaligned = seed % 3 == 0 ? 1U : 0U});
    INFO("seed " << seed << ": " << program.key());
    interpret(data);
  }
}

TEST_CASE("the interpreted sum of nothing is the identity") {
  for (const auto& extents : std::vector<Dims>{{5, 0}}) {
    const ProgramCase data(sum_program({DType::f32, compute::Access::linear}, 2, 0b10), extents);
    interpret(data);
  }
}
