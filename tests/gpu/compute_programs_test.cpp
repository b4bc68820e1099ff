// Programs on a device: bit for bit what an element-by-element evaluation gives.
#include <array>
#include <numeric>
#include <random>

#include "tests/compute/cuda/sample_programs.hpp"
#include "tests/gpu/gpu_compute.hpp"

using namespace forebay;
using namespace forebay::test;
using compute::Access;
using compute::Binding;
using compute::Op;
using compute::Program;
using compute::ReduceOp;
using compute::Reduction;

namespace {

Dims random_extents(std::mt19937& random, unsigned rank, std::int64_t most) {
  static constexpr std::array<std::int64_t, 12> kLengths = {1,  3,  4,   5,   7,    16,
                                                            31, 64, 100, 129, 1000, 20'011};
  Dims extents;
  std::int64_t count = 1;
  for (unsigned d = 0; d < rank; ++d) {
    std::int64_t extent = kLengths[random() % kLengths.size()];
    while (count * extent > most && extent > 1) extent = (extent + 1) / 2;
    extents.push_back(extent);
    count *= extent;
  }
  return extents;
}

}  // namespace

TEST_CASE("programs on a device compute what their operations say") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  unsigned seed = 0;
  for (const NamedProgram& named : sample_programs()) {
    for (unsigned round = 0; round < 6; ++round) {
      std::mt19937 random(++seed);
      const Dims extents = random_extents(random, named.program.rank, 100'000);
      const bool specials = !named.program.reduction && round % 2 == 0;
      const ProgramCase data(named.program, extents,
                             {.seed = seed, .specials = specials, .misaligned = round % 3});
      for (const char* tier : kTiers) {
        compute::Executor* const executor = gpu.executor(tier);
        if (executor == nullptr) continue;
        INFO(tier << ": " << named.name << " over " << to_string(extents) << ", seed " << seed);
        DeviceCase on_device(gpu, data, gpu.stream);
        on_device.run(named.program, *executor);
        CHECK(on_device.check() == "");
      }
    }
  }
}

TEST_CASE("reductions on a device: every shape, the same bits each time") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  constexpr compute::Leaf kLinear{DType::f32, Access::linear};
  struct Shape {
    Program program;
    Dims extents;
  };
  std::vector<Shape> shapes;
  const Program all = sum_program(kLinear, 1, 0b1);
  for (const std::int64_t n : {1, 31, 2048, 2049, 4097, 100'003, 903'168, 10'000'001}) {
    shapes.push_back({all, {n}});
  }
  const Program rows = sum_program(kLinear, 2, 0b10);
  for (const Dims& extents : std::vector<Dims>{
           {1, 300'000}, {3, 1'000'003}, {1000, 1000}, {100'000, 7}, {100'000, 64}, {300'000, 1}}) {
    shapes.push_back({rows, extents});
  }
  const Program columns = sum_program(kLinear, 2, 0b01);
  for (const Dims& extents : std::vector<Dims>{
           {300'000, 1}, {1'000'003, 3}, {256, 256}, {7, 100'000}, {100'000, 65}, {1, 300'000}}) {
    shapes.push_back({columns, extents});
  }
  shapes.push_back({sum_program(kLinear, 3, 0b010), {50, 1000, 70}});
  shapes.push_back({sum_program(kLinear, 3, 0b101), {300, 9, 700}});
  shapes.push_back({sum_program({DType::i32, Access::linear}, 1, 0b1), {5'000'003}});
  shapes.push_back({sum_program({DType::i32, Access::strided}, 4, 0b1010), {20, 30, 40, 50}});
  for (const Shape& shape : shapes) {
    INFO("dimensions " << int{shape.program.reduced_dims} << " of " << to_string(shape.extents));
    const ProgramCase data(shape.program, shape.extents, {.seed = 9});
    DeviceCase on_device(gpu, data, gpu.stream);
    on_device.run(shape.program);
    CHECK(on_device.check() == "");
    const std::vector<std::byte> first = on_device.reduction_bytes();
    bool same = true;
    for (int again = 0; again < 20; ++again) {
      on_device.run(shape.program);
      same = same && on_device.reduction_bytes() == first;
    }
    CHECK(same);
  }
}

TEST_CASE("reductions of nothing give the identity on a device") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  for (const auto op : {ReduceOp::sum, ReduceOp::mean}) {
    Program rows = sum_program({DType::f32, Access::linear}, 2, 0b10);
    rows.reduction->op = op;
    const ProgramCase data(rows, {5, 0});
    DeviceCase on_device(gpu, data, gpu.stream);
    on_device.run(rows);
    CHECK(on_device.check() == "");
  }
}

TEST_CASE("2^29 ones sum exactly, in rows and in columns") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  compute::Executor* const tier = gpu.executor(kTiers[GENERATE(0U, 1U)]);
  if (tier == nullptr) return;
  constexpr std::int64_t kCount = std::int64_t{1} << 29;
  const DeviceBlock ones(gpu, kCount * 4, gpu.stream);
  const DeviceBlock sums(gpu, 4096, gpu.stream);
  Program fill;
  fill.scalars = {DType::f32};
  fill.outputs = {{0}};
  compute::Executor& executor = *tier;
  executor.run(fill,
               Binding{.extents = {kCount},
                       .leaves = {},
                       .strides = {},
                       .scalars = {0x3f800000U},
                       .outputs = {ones.get()}},
               gpu.stream);
  const auto sum = [&](const Program& program, const Dims& extents, std::size_t results) {
    executor.run(program,
                 Binding{.extents = extents,
                         .leaves = {ones.get()},
                         .strides = {{}},
                         .scalars = {},
                         .outputs = {},
                         .reduction = sums.get()},
                 gpu.stream);
    std::vector<float> got(results);
    gpu.backend.download(sums.get(), got.data(), results * 4, gpu.stream);
    return got;
  };
  constexpr compute::Leaf kLinear{DType::f32, Access::linear};
  CHECK(sum(sum_program(kLinear, 1, 0b1), {kCount}, 1).front() == static_cast<float>(kCount));
  const std::vector<float> want(8, static_cast<float>(kCount / 8));
  CHECK(sum(sum_program(kLinear, 2, 0b10), {8, kCount / 8}, 8) == want);
  CHECK(sum(sum_program(kLinear, 2, 0b01), {kCount / 8, 8}, 8) == want);
}

TEST_CASE("more than 2^31 elements: every index is 64 bits wide where it has to be") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  compute::Executor* const tier = gpu.executor(kTiers[GENERATE(0U, 1U)]);
  if (tier == nullptr) return;
  constexpr std::int64_t kRows = 65'537;
  constexpr std::int64_t kColumns = 32'771;
  constexpr std::int64_t kCount = kRows * kColumns;
  static_assert(kCount > std::int64_t{1} << 31);
  if (gpu.device.free_bytes() < static_cast<std::size_t>(kCount) * 4 + (std::size_t{1} << 30)) {
    std::printf("SKIPPED: 10 GB of device memory are needed\n");
    return;
  }
  // out[r][c] = 3 r + 7 c from two broadcast ramps, then the sum of it, by rows and by columns.
  std::vector<std::int32_t> ramp(kRows);
  std::iota(ramp.begin(), ramp.end(), 0);
  const DeviceBlock numbers(gpu, ramp.size() * 4, gpu.stream);
  gpu.backend.upload(ramp.data(), DType::i32, numbers.get(), DType::i32, ramp.size(), gpu.stream);
  const DeviceBlock out(gpu, static_cast<std::size_t>(kCount) * 4, gpu.stream);
  Program fill;
  fill.rank = 2;
  fill.leaves = {{DType::i32, Access::strided}, {DType::i32, Access::strided}};
  fill.scalars = {DType::i32, DType::i32};
  fill.code = {{Op::mul, DType::i32, 0, 2, 0},
               {Op::mul, DType::i32, 1, 3, 0},
               {Op::add, DType::i32, 4, 5, 0}};
  fill.outputs = {{6}};
  compute::Executor& executor = *tier;
  executor.run(fill,
               Binding{.extents = {kRows, kColumns},
                       .leaves = {numbers.get(), numbers.get()},
                       .strides = {{1, 0}, {0, 1}},
                       .scalars = {3, 7},
                       .outputs = {out.get()}},
               gpu.stream);
  const auto want = [](std::int64_t i) {
    return static_cast<std::int32_t>(3 * (i / kColumns) + 7 * (i % kColumns));
  };
  std::vector<std::int32_t> part(10'000);
  for (const std::int64_t from : {std::int64_t{0}, (std::int64_t{1} << 30) - 5000,
                                  (std::int64_t{1} << 31) - 5000, kCount - std::int64_t{10'000}}) {
    gpu.backend.download(out.get<std::int32_t>() + from, part.data(), part.size() * 4, gpu.stream);
    bool right = true;
    for (std::size_t i = 0; i < part.size(); ++i) {
      right = right && part[i] == want(from + static_cast<std::int64_t>(i));
    }
    INFO("from " << from);
    CHECK(right);
  }
  const DeviceBlock sums(gpu, kRows * 8, gpu.stream);
  const auto reduce = [&](std::uint8_t dims, std::size_t results) {
    const Program program = sum_program({DType::i32, Access::linear}, 2, dims);
    executor.run(program,
                 Binding{.extents = {kRows, kColumns},
                         .leaves = {out.get()},
                         .strides = {{}},
                         .scalars = {},
                         .outputs = {},
                         .reduction = sums.get()},
                 gpu.stream);
    std::vector<std::int64_t> got(results);
    gpu.backend.download(sums.get(), got.data(), results * 8, gpu.stream);
    return got;
  };
  const auto triangle = [](std::int64_t n) { return n * (n - 1) / 2; };
  CHECK(reduce(0b11, 1).front() == 3 * triangle(kRows) * kColumns + 7 * triangle(kColumns) * kRows);
  const std::vector<std::int64_t> rows = reduce(0b10, kRows);
  const std::vector<std::int64_t> columns = reduce(0b01, kColumns);
  bool right = true;
  for (std::int64_t r = 0; r < kRows; ++r) {
    right = right && rows[static_cast<std::size_t>(r)] == 3 * r * kColumns + 7 * triangle(kColumns);
  }
  CHECK(right);
  for (std::int64_t c = 0; c < kColumns; ++c) {
    right = right && columns[static_cast<std::size_t>(c)] == 3 * triangle(kRows) + 7 * c * kRows;
  }
  CHECK(right);
}

TEST_CASE("programs on many streams do not disturb each other") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  const Program program = sum_program({DType::f32, Access::linear}, 1, 0b1);
  // More streams than keep scratch memory.
  std::vector<Stream> streams;
  for (int i = 0; i < 20; ++i) streams.push_back(gpu.device.create_stream());
  const ProgramCase data(program, {300'000}, {.seed = 4});
  std::vector<std::unique_ptr<DeviceCase>> cases;
  for (const Stream& stream : streams) {
    cases.push_back(std::make_unique<DeviceCase>(gpu, data, stream));
  }
  for (int round = 0; round < 50; ++round) {
    for (const auto& one : cases) one->run(program);
  }
  for (const auto& one : cases) CHECK(one->check() == "");
  CHECK(cases.front()->reduction_bytes() == cases.back()->reduction_bytes());
  cases.clear();
}

TEST_CASE("a program may write over the leaf that it reads") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  Program twice;
  twice.leaves = {{DType::i32, Access::linear}};
  twice.code = {{Op::add, DType::i32, 0, 0, 0}};
  twice.outputs = {{1}};
  for (const std::size_t count : {5U, 100'001U}) {
    std::vector<std::int32_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 1);
    const DeviceBlock block(gpu, count * 4, gpu.stream);
    gpu.backend.upload(numbers.data(), DType::i32, block.get(), DType::i32, count, gpu.stream);
    for (int i = 0; i < 3; ++i) {
      gpu.backend.executors().back()->run(twice,
                                          Binding{.extents = {static_cast<std::int64_t>(count)},
                                                  .leaves = {block.get()},
                                                  .strides = {{}},
                                                  .scalars = {},
                                                  .outputs = {block.get()}},
                                          gpu.stream);
    }
    std::vector<std::int32_t> got(count);
    gpu.backend.download(block.get(), got.data(), count * 4, gpu.stream);
    for (std::int32_t& number : numbers) number *= 8;
    CHECK(got == numbers);
  }
}

TEST_CASE("the warm path compiles nothing, allocates nothing and launches once") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  const Program program = sum_program({DType::f32, Access::linear}, 1, 0b1);
  const ProgramCase data(program, {1'000'000});
  DeviceCase on_device(gpu, data, gpu.stream);
  on_device.run(program);
  const std::uint64_t compiled = gpu.device.counters().kernels.compiled;
  const std::uint64_t calls = gpu.device.driver_calls();
  for (int i = 0; i < 100; ++i) on_device.run(program);
  CHECK(gpu.device.counters().kernels.compiled == compiled);
  // Make current, ask for a capture, let those of others be, parameter, launch, and back.
  CHECK(gpu.device.driver_calls() - calls <= 600);
  CHECK(gpu.device.counters().kernels.compiled_launches == 101);
}
