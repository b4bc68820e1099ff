// The logic of the interpreter kernels, without a device: they compute what an element-by-element
// evaluation does, with the bits that the generated kernels give.
#include <array>

#include "compute/cuda/codegen.hpp"
#include "compute/cuda/interpreter_arguments.hpp"
#include "tests/compute/cuda/emulated_run.hpp"
#include "tests/compute/cuda/interpreted_kernels.hpp"
#include "tests/compute/cuda/sample_programs.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::test;
using compute::Access;
using cuda::Bytecode;
using cuda::InterpreterPlan;
using Kernel = cuda::InterpreterKernel;

namespace {

constexpr std::size_t kH200Shared = 232448;

/// As planned, or by the more general kernels even where the fast ones would do; as if shared
/// memory were scarce.
enum class How { planned, typed, large, scarce };
constexpr std::array<How, 4> kWays = {How::planned, How::typed, How::large, How::scarce};

struct Interpreted {
  InterpreterPlan plan;
  Outcome outcome;
};

Interpreted interpret(const ProgramCase& data, How how = How::planned, bool in_place = false) {
  EmulatedCase run(data);
  if (in_place) run.write_over(1, 1);
  const Bytecode bytecode(data.program());
  const bool reduces = data.program().reduction.has_value();
  const bool scarce = how == How::scarce;
  Interpreted result;
  InterpreterPlan& plan = result.plan;
  // With what is left for a few threads, even the plan of a reduction has to do with fewer.
  const std::size_t shared =
      scarce ? cuda::kInterpreterStaticBytes + bytecode.slots * 16 * 24 : kH200Shared;
  plan = cuda::plan_interpretation(data.program(), bytecode, run.binding, 132, shared);
  const bool small = plan.kernel < Kernel::map_large;
  if (how == How::typed && small && plan.kernel != Kernel::map_tiled) {
    plan.kernel = reduces ? Kernel::reduce_typed : Kernel::map_typed;
    plan.length = cuda::ParameterLength::full;
  }
  if (how == How::large && plan.kernel != Kernel::map_tiled) {
    plan.kernel = reduces ? Kernel::reduce_large : Kernel::map_large;
    plan.length = cuda::ParameterLength::full;
  }
  if (plan.launch.blocks == 0) return result;
  plan.launch.choices.partials = run.scratch(plan.launch.choices.plan);
  cuda::InterpreterArguments arguments(data.program(), bytecode, run.binding, plan);
  const auto parameter = parameter_of(plan, arguments.data());
  emulate(
      plan.launch.blocks, plan.launch.threads,
      [&] { interpret_thread(plan.kernel, parameter.data()); }, plan.launch.choices.plan.waiting());
  CHECK(run.check() == "");
  result.outcome = run.outcome();
  return result;
}

Outcome run_generated(const std::string& name, const ProgramCase& data) {
  EmulatedCase run(data);
  emulate_generated(name, run);
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

/// What the interpreter gives in every way, against the generated kernel.
void check_against_generated(const std::string& name, const ProgramCase& data,
                             std::array<unsigned, cuda::kInterpreterKernels>& kernels) {
  const Outcome generated = run_generated(name, data);
  for (const How how : kWays) {
    INFO("way " << static_cast<int>(how));
    const Interpreted one = interpret(data, how);
    ++kernels[static_cast<unsigned>(one.plan.kernel)];
    CHECK(data.same(one.outcome.buffers, generated.buffers));
    if (data.program().reduction) CHECK(one.outcome.mailbox == generated.mailbox);
  }
}

}  // namespace

TEST_CASE("interpreted programs compute what they say, with the bits of generated kernels") {
  unsigned seed = 0;
  std::array<unsigned, cuda::kInterpreterKernels> kernels{};
  for (const NamedProgram& named : sample_programs()) {
    for (unsigned round = 0; round < 4; ++round) {
      std::mt19937 random(++seed);
      const Dims extents = draw_extents(random, named.program, round % 2 == 0);
      const bool specials = !named.program.reduction && round % 2 == 0;
      const ProgramCase data(named.program, extents,
                             {.seed = seed, .specials = specials, .misaligned = round % 3});
      INFO(named.name << " over " << to_string(extents));
      check_against_generated(named.name, data, kernels);
    }
  }
  for (unsigned k = 0; k < kernels.size(); ++k) {
    const auto kernel = static_cast<Kernel>(k);
    CHECK((kernels[k] > 20 || kernel == Kernel::map_tiled || kernel == Kernel::reduce_steps));
  }
}

TEST_CASE("maps that are interpreted by tiles have the bits of generated kernels") {
  std::array<unsigned, cuda::kInterpreterKernels> kernels{};
  for (const NamedProgram& named : sample_programs()) {
    if (!cuda::may_tile(named.program)) continue;
    for (const Dims& extents : tiled_extents(named.program.rank)) {
      for (unsigned seed = 1; seed <= 6; ++seed) {
        const ProgramCase data(named.program, extents,
                               {.seed = seed, .specials = seed % 2 == 0, .misaligned = seed % 3});
        if (cuda::plan_staged(data.program(), data.binding()).blocks == 0) continue;
        INFO(named.name << " over " << to_string(extents));
        check_against_generated(named.name, data, kernels);
        if (named.name.starts_with("turned")) interpret(data, How::planned, true);
      }
    }
  }
  CHECK(kernels[static_cast<unsigned>(Kernel::map_tiled)] > 200);
}

TEST_CASE("interpreted reductions of every shape give the bits of generated kernels") {
  const std::vector<std::pair<std::string, Dims>> shapes = {{"sum_all", {1}},
                                                            {"sum_all", {2049}},
                                                            {"sum_all", {4096}},
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
  std::array<unsigned, cuda::kInterpreterKernels> kernels{};
  for (const auto& [name, extents] : shapes) {
    for (const NamedProgram& named : sample_programs()) {
      if (named.name != name) continue;
      const ProgramCase data(named.program, extents, {.seed = 3});
      INFO(name << " over " << to_string(extents));
      check_against_generated(name, data, kernels);
    }
  }
  CHECK(kernels[static_cast<unsigned>(Kernel::reduce)] > 0);
  CHECK(kernels[static_cast<unsigned>(Kernel::reduce_steps)] > 0);
}

TEST_CASE("every interpreted reduction of every type has the bits of its kernel, split and whole") {
  std::array<unsigned, cuda::kInterpreterKernels> kernels{};
  unsigned seed = 700;
  for (const NamedProgram& named : reduction_programs()) {
    const bool flat = named.program.rank == 1;
    for (const Dims& extents : {flat ? Dims{70'003} : Dims{9, 7000}, flat ? Dims{8} : Dims{300, 64},
                                flat ? Dims{2048} : Dims{61, 33}}) {
      for (const bool specials : {false, true}) {
        const auto op = named.program.reduction->op;
        // What a sum of infinities and numbers beyond f32 comes to is the tree's affair.
        const bool adds = op == compute::ReduceOp::sum || op == compute::ReduceOp::mean ||
                          op == compute::ReduceOp::prod;
        if (specials && adds) continue;
        const ProgramCase data(named.program, extents, {.seed = ++seed, .specials = specials});
        INFO(named.name << " over " << to_string(extents));
        check_against_generated(named.name, data, kernels);
      }
    }
  }
}

TEST_CASE("strided leaves of every type, by pieces and one by one") {
  for (const Dims& extents :
       {Dims{7, 5, 64}, Dims{40, 3, 33}, Dims{2, 2, 1001}, Dims{3000, 1, 4}, Dims{2, 70, 52}}) {
    for (unsigned seed = 1; seed < 8; ++seed) {
      const ProgramCase data(type_program(Access::strided), extents,
                             {.seed = seed, .misaligned = seed % 2});
      INFO("seed " << seed << " over " << to_string(extents));
      for (const How how : kWays) interpret(data, how);
    }
  }
  for (const NamedProgram& named : operation_programs(Access::strided)) {
    INFO(named.name);
    interpret(ProgramCase(named.program, Dims{3, 7, 64}, {.seed = 5, .specials = true}));
    interpret(ProgramCase(named.program, Dims{3, 5, 37}, {.seed = 6, .specials = true}));
    interpret(ProgramCase(named.program, Dims{2, 60, 37}, {.seed = 7, .specials = true}));
  }
}

TEST_CASE("programs at the limits and one below are interpreted, linear and strided") {
  for (const NamedProgram& named : limit_programs()) {
    for (unsigned seed = 1; seed <= 2; ++seed) {
      const Dims extents = named.program.rank == 1 ? Dims{1001} : Dims{2, 3, 1, 2, 2, 3, 2, 4};
      INFO(named.name);
      const ProgramCase data(named.program, extents, {.seed = seed, .misaligned = seed % 2});
      for (const How how : kWays) interpret(data, how);
    }
  }
}

TEST_CASE("random programs are interpreted as the element-by-element evaluation says") {
  for (unsigned seed = 1000; seed < 1600; ++seed) {
    std::mt19937 random(seed);
    const compute::Program program =
        seed % 3 == 0 ? random_word_program(seed) : random_program(seed);
    const ProgramCase data(program, draw_extents(random, program, true),
                           {.seed = seed, .misaligned = seed % 5 == 0 ? 1U : 0U});
    INFO("seed " << seed << ": " << program.key());
    interpret(data, kWays[seed % kWays.size()]);
  }
}

TEST_CASE("the interpreted reduction of nothing is the identity") {
  for (const NamedProgram& named : reduction_programs()) {
    if (named.program.rank == 1) continue;
    const auto op = named.program.reduction->op;
    if (op == compute::ReduceOp::mean) continue;  // 0 / 0
    compute::Program program = named.program;
    program.reduced_dims = 0b10;
    INFO(named.name);
    interpret(ProgramCase(program, Dims{5, 0}), How::planned);
  }
}
