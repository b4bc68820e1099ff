// The two tiers on a device: the same bits, and nobody waits for the compiler.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>

#include "compute/cuda/tile_plan.hpp"
#include "forebay/compute/graph.hpp"
#include "forebay/compute/in_place.hpp"
#include "forebay/compute/prepare.hpp"
#include "forebay/compute/shaping.hpp"
#include "forebay/compute/tensor.hpp"
#include "tests/compute/cuda/sample_programs.hpp"
#include "tests/gpu/gpu_compute.hpp"

using namespace forebay;
using namespace forebay::test;
using compute::Program;

namespace {

/// Whether there is no interpreter to test; the build says so when it is configured.
bool without_interpreter(const GpuCompute& gpu) {
  if (gpu.executor("cuda-interpreter") != nullptr) return false;
  std::printf("SKIPPED: built without nvcc\n");
  return true;
}

void check_tiers(GpuCompute& gpu, const ProgramCase& data, const std::string& name) {
  const Program& program = data.program();
  INFO(name << " over " << to_string(data.binding().extents) << ": " << program.key());
  std::array<std::vector<CaseBuffer>, 2> results;
  for (std::size_t tier = 0; tier < kTiers.size(); ++tier) {
    DeviceCase on_device(gpu, data, gpu.stream);
    on_device.run(program, *gpu.executor(kTiers[tier]));
    results[tier] = on_device.buffers();
  }
  // Which of them is wrong, and where.
  std::string wrong;
  for (std::size_t k = 0; k < program.outputs.size(); ++k) {
    for (std::size_t tier = 0; tier < kTiers.size(); ++tier) {
      const std::string what = data.check_output(k, results[tier][k]);
      if (!what.empty()) wrong += "tier " + std::to_string(tier) + ": " + what + "; ";
    }
  }
  INFO(wrong);
  CHECK(data.same(results[0], results[1]));
}

void check_tiers(GpuCompute& gpu, const Program& program, unsigned seed) {
  static constexpr std::array<std::int64_t, 10> kLengths = {1,  3,   4,    7,    31,
                                                            64, 129, 1000, 2049, 20'011};
  std::mt19937 random(seed);
  Dims extents;
  std::int64_t count = 1;
  for (unsigned d = 0; d < program.rank; ++d) {
    std::int64_t extent = kLengths[random() % kLengths.size()];
    while (count * extent > 200'000 && extent > 1) extent = (extent + 1) / 2;
    extents.push_back(extent);
    count *= extent;
  }
  check_tiers(gpu,
              ProgramCase(program, extents,
                          {.seed = seed, .specials = seed % 2 == 0, .misaligned = seed % 3}),
              "seed " + std::to_string(seed));
}

}  // namespace

TEST_CASE("both tiers give the same bits for every form of program") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  if (without_interpreter(gpu)) return;
  unsigned seed = 0;
  for (const NamedProgram& named : sample_programs()) {
    for (unsigned round = 0; round < 6; ++round) check_tiers(gpu, named.program, ++seed);
  }
}

TEST_CASE("both tiers give the same bits for random programs") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  if (without_interpreter(gpu)) return;
  for (unsigned seed = 5000; seed < 5150; ++seed) {
    check_tiers(gpu, seed % 3 == 0 ? random_word_program(seed) : random_program(seed), seed);
  }
}

TEST_CASE("both tiers give the same bits for every operation on strided leaves of every type") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  if (without_interpreter(gpu)) return;
  unsigned seed = 6000;
  for (const NamedProgram& named : operation_programs(compute::Access::strided)) {
    check_tiers(gpu, named.program, ++seed);
  }
  for (int round = 0; round < 6; ++round) {
    check_tiers(gpu, type_program(compute::Access::strided), ++seed);
  }
}

TEST_CASE("both tiers walk by tiles, with every edge and type") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  if (without_interpreter(gpu)) return;
  unsigned tiled = 0;
  for (const NamedProgram& named : sample_programs()) {
    if (!cuda::may_tile(named.program)) continue;
    for (const Dims& extents : tiled_extents(named.program.rank)) {
      for (unsigned seed = 1; seed <= 4; ++seed) {
        const ProgramCase data(named.program, extents,
                               {.seed = seed, .specials = seed % 2 == 0, .misaligned = seed % 3});
        if (cuda::plan_staged(data.program(), data.binding()).blocks == 0) {
          continue;
        }
        check_tiers(gpu, data, named.name);
        ++tiled;
      }
    }
  }
  CHECK(tiled > 50);
}

TEST_CASE("both tiers sum the same bits over long rows, split and whole, along and across") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  if (without_interpreter(gpu)) return;
  constexpr compute::Leaf kLinear{DType::f32, compute::Access::linear};
  const std::vector<std::pair<Program, Dims>> shapes = {
      {sum_program(kLinear, 1, 0b1), {10'000'001}},
      {sum_program(kLinear, 2, 0b10), {1000, 1000}},
      {sum_program(kLinear, 2, 0b10), {3, 1'000'003}},
      {sum_program(kLinear, 2, 0b01), {1'000'003, 3}},
      {sum_program(kLinear, 2, 0b01), {1000, 1000}},
      {sum_program(kLinear, 3, 0b101), {300, 9, 700}},
      {sum_program({DType::f32, compute::Access::strided}, 2, 0b11), {1500, 700}}};
  for (const auto& [program, extents] : shapes) {
    INFO("dimensions " << int{program.reduced_dims} << " of " << to_string(extents));
    const ProgramCase data(program, extents, {.seed = 11});
    std::array<std::vector<CaseBuffer>, 2> results;
    for (std::size_t tier = 0; tier < kTiers.size(); ++tier) {
      DeviceCase on_device(gpu, data, gpu.stream);
      on_device.run(program, *gpu.executor(kTiers[tier]));
      CHECK(on_device.check() == "");
      results[tier] = on_device.buffers();
    }
    CHECK(data.same(results[0], results[1]));
  }
}

TEST_CASE("both tiers reduce every type by every rule to the same bits, split and whole") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  if (without_interpreter(gpu)) return;
  unsigned seed = 40;
  for (const NamedProgram& named : reduction_programs()) {
    const bool flat = named.program.rank == 1;
    for (const Dims& extents :
         {flat ? Dims{1'000'003} : Dims{9, 70'000}, flat ? Dims{2048} : Dims{3000, 61},
          flat ? Dims{8} : Dims{64, 300}}) {
      INFO(named.name << " over " << to_string(extents));
      const ProgramCase data(named.program, extents, {.seed = ++seed});
      std::array<std::vector<CaseBuffer>, 2> results;
      for (std::size_t tier = 0; tier < kTiers.size(); ++tier) {
        DeviceCase on_device(gpu, data, gpu.stream);
        on_device.run(named.program, *gpu.executor(kTiers[tier]));
        CHECK(on_device.check() == "");
        results[tier] = on_device.buffers();
      }
      CHECK(data.same(results[0], results[1]));
    }
  }
}

TEST_CASE("a new program runs at once, and by its kernel when that is ready") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  if (without_interpreter(gpu)) return;
  const KernelCounters& kernels = gpu.device.counters().kernels;
  std::vector<float> values(100'000);
  std::iota(values.begin(), values.end(), 0.0F);
  const Tensor x = from_host<float>(values, {100'000}, gpu.device);
  const auto total = [&] { return ((x + 1.0F) * 0.5F - 2.0F).sum().item(); };
  const float first = total();
  CHECK(kernels.interpreted_launches > 0);
  CHECK(kernels.compiled_launches == 0);
  CHECK(kernels.compiled == 0);
  for (int i = 0; i < 5; ++i) CHECK(total() == first);
  CHECK(prepare(gpu.device));
  CHECK(kernels.compiled > 0);
  CHECK(kernels.queued == 0);
  const std::uint64_t interpreted = kernels.interpreted_launches;
  CHECK(total() == first);
  CHECK(kernels.interpreted_launches == interpreted);
  CHECK(kernels.compiled_launches > 0);
  CHECK(kernels.compile_wait_us == 0);  // nobody has waited
}

TEST_CASE("once all kernels are there, a graph captures them and not the interpreter") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  if (without_interpreter(gpu)) return;
  const KernelCounters& kernels = gpu.device.counters().kernels;
  const Tensor x = full({1000}, 1.5F, gpu.device).eval();
  const Tensor y = zeros({1000}, gpu.device).eval();
  const auto step = [&] { assign(y, x * 2.0F + 0.25F); };
  step();
  y.eval();
  CHECK(kernels.interpreted_launches > 0);
  REQUIRE(prepare(gpu.device));
  const std::uint64_t interpreted = kernels.interpreted_launches;
  const std::uint64_t compiled = kernels.compiled_launches;
  const Graph graph = capture(gpu.device, step);
  CHECK(kernels.interpreted_launches == interpreted);
  CHECK(kernels.compiled_launches > compiled);
  assign(x, full({1000}, 4.0F, gpu.device));
  graph.replay();
  CHECK(y.to_host<float>() == std::vector<float>(1000, 8.25F));
}

TEST_CASE("a hundred million random numbers sum as in long doubles, whole, in rows and columns") {
  FOREBAY_REQUIRE_DEVICE();
  Config config = device_config();
  config.fusion.tier = GENERATE(FusionTier::interpret, FusionTier::compile);
  GpuCompute gpu(config);
  if (config.fusion.tier == FusionTier::interpret && without_interpreter(gpu)) return;
  constexpr std::int64_t kSide = 10'000;
  const Tensor x = random_uniform({kSide, kSide}, 77, gpu.device);
  const std::vector<float> values = x.to_host<float>();
  std::vector<long double> rows(kSide);
  std::vector<long double> columns(kSide);
  long double total = 0;
  for (std::size_t i = 0; i < kSide; ++i) {
    for (std::size_t j = 0; j < kSide; ++j) {
      rows[i] += values[i * kSide + j];
      columns[j] += values[i * kSide + j];
    }
    total += rows[i];
  }
  // Eight terms are added in f32, their sums in f64, and the result is rounded once.
  constexpr double kBound = 3e-7;
  const auto off = [](float got, long double want) {
    return static_cast<double>(std::abs((got - want) / want));
  };
  CHECK(off(x.sum().item(), total) < kBound);
  const std::vector<float> row_sums = x.sum(1).to_host<float>();
  const std::vector<float> column_sums = x.sum(0).to_host<float>();
  double worst = 0;
  for (std::size_t i = 0; i < kSide; ++i) {
    worst = std::max({worst, off(row_sums[i], rows[i]), off(column_sums[i], columns[i])});
  }
  CHECK(worst < kBound);
}

TEST_CASE("with fusion.tier interpret nothing is ever compiled, with compile nothing interpreted") {
  FOREBAY_REQUIRE_DEVICE();
  const auto tier = GENERATE(FusionTier::interpret, FusionTier::compile);
  Config config = device_config();
  config.fusion.tier = tier;
  GpuCompute gpu(config);
  if (tier == FusionTier::interpret && without_interpreter(gpu)) return;
  for (int i = 0; i < 5; ++i) {
    CHECK((full({1000}, 2.0F, gpu.device).eval() * 3.0F).sum().item() == 6000.0F);
  }
  CHECK(prepare(gpu.device, std::chrono::milliseconds(0)));
  const KernelCounters& kernels = gpu.device.counters().kernels;
  CHECK((kernels.compiled == 0) == (tier == FusionTier::interpret));
  CHECK((kernels.interpreted_launches == 0) == (tier == FusionTier::compile));
}

TEST_CASE("a device closes, and a process goes on, while kernels are being made") {
  FOREBAY_REQUIRE_DEVICE();
  for (int round = 0; round < 5; ++round) {
    GpuCompute gpu;
    for (int i = 0; i < 3; ++i) {
      const Tensor x = full({1000}, 1.0F, gpu.device).eval();
      CHECK((x + static_cast<float>(round)).sum().item() ==
            1000.0F * static_cast<float>(round + 1));
    }
  }
}
