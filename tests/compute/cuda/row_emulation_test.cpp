// Row kernels in the emulator have the bits of their stages, one kernel after the other.
#include <cstring>
#include <random>
#include <set>

#include "compute/convert.hpp"
#include "compute/cuda/launch_plan.hpp"
#include "compute/cuda/row_plan.hpp"
#include "tests/compute/cuda/emulated_case.hpp"
#include "tests/compute/cuda/emulator.hpp"
#include "tests/compute/cuda/sample_rows.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::test;
using compute::RowBinding;
using compute::RowSource;
using Kind = compute::RowSource::Kind;

namespace {

/// Bytes behind a mark and in front of one, at an offset from a multiple of 16.
class Buffer {
 public:
  Buffer(std::size_t bytes, std::size_t offset)
      : bytes_(bytes), words_(bytes / 16 + 3), at_(16 + offset) {
    std::memset(words_.data(), 0x5a, words_.size() * 16);
  }
  [[nodiscard]] std::byte* data() {
    auto* const start = reinterpret_cast<std::byte*>(words_.data());
    return start + at_;
  }
  [[nodiscard]] std::vector<std::byte> taken() { return {data(), data() + bytes_}; }
  [[nodiscard]] bool intact() {
    const auto* const start = reinterpret_cast<const std::byte*>(words_.data());
    for (std::size_t i = 0; i < words_.size() * 16; ++i) {
      if ((i < at_ || i >= at_ + bytes_) && start[i] != std::byte{0x5a}) return false;
    }
    return true;
  }

 private:
  struct alignas(16) Unit {
    std::byte bytes[16];
  };
  std::size_t bytes_;
  std::vector<Unit> words_;
  std::size_t at_;
};

class Rows {
 public:
  Rows(const NamedRows& named, std::int64_t rows, std::int64_t length, unsigned seed,
       bool misaligned)
      : named_(named), rows_(rows), length_(length), misaligned_(misaligned) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0.5F, 6.0F);
    for (const compute::RowStage& stage : named.program.stages) {
      for (std::size_t k = 0; k < stage.sources.size(); ++k) {
        const RowSource source = stage.sources[k];
        if (source.kind != Kind::input && source.kind != Kind::column) continue;
        if (source.index < inputs_.size()) continue;
        const auto count =
            static_cast<std::size_t>(source.kind == Kind::input ? rows * length : length);
        std::vector<float> numbers(count);
        for (float& number : numbers) number = normal(random);
        inputs_.push_back(buffer(count, stage.program.leaves[k].type));
        compute::convert(numbers.data(), DType::f32, inputs_.back().data(),
                         stage.program.leaves[k].type, count);
      }
      for (const DType type : stage.program.scalars) {
        scalars_.push_back(type == DType::f64 ? 0x3ff0000000000000ULL : 0x3f800000ULL);  // 1
      }
    }
  }

  /// By one kernel of `steps` steps.
  std::vector<std::byte> together(unsigned steps) {
    Buffer output = result();
    RowBinding binding{rows_, length_, {}, scalars_, output.data()};
    for (Buffer& input : inputs_) binding.inputs.push_back(input.data());
    cuda::RowLaunch launch;
    if (const auto planned = cuda::plan_rows(named_.program, binding)) {
      launch = *planned;
    } else {
      launch.plan = plan();
      launch.blocks = cuda::blocks_of_rows(launch.plan, steps);
      launch.threads = launch.plan.threads();
      launch.vector = length_ % 4 == 0 && !misaligned_;
    }
    vector = launch.vector;
    cuda::RowArguments arguments(named_.program, binding, launch);
    const std::string name = "rows_" + named_.name + "_" + std::to_string(steps);
    const EmulatedKernel* const kernel = emulated_kernel(name.c_str());
    REQUIRE(kernel != nullptr);
    REQUIRE(arguments.size() == kernel->argument_bytes);
    emulate(launch.blocks, launch.threads, [&] { kernel->thread(arguments.data()); });
    REQUIRE(output.intact());
    return output.taken();
  }

  /// Stage by stage.
  std::vector<std::byte> apart() {
    Buffer output = result();
    std::vector<Buffer> stored, reduced;
    std::size_t scalar = 0;
    for (std::size_t k = 0; k < named_.program.stages.size(); ++k) {
      const compute::RowStage& stage = named_.program.stages[k];
      const compute::Program& program = stage.program;
      compute::Binding binding;
      binding.extents = {rows_, length_};
      for (const RowSource source : stage.sources) {
        Buffer& from = source.kind == Kind::stored ? stored[source.index]
                       : source.kind == Kind::row  ? reduced[source.index]
                                                   : inputs_[source.index];
        binding.leaves.push_back(from.data());
        binding.strides.push_back(source.kind == Kind::column ? Dims{0, 1}
                                  : source.kind == Kind::row  ? Dims{1, 0}
                                                              : Dims());
      }
      for (std::size_t n = 0; n < program.scalars.size(); ++n) {
        binding.scalars.push_back(scalars_[scalar++]);
      }
      const auto elements = static_cast<std::size_t>(rows_ * length_);
      const bool last = !program.reduction;
      stored.push_back(buffer(
          program.outputs.empty() ? 0 : elements,
          program.outputs.empty() ? DType::u8 : program.type_of(program.outputs.front().value)));
      if (!program.outputs.empty()) {
        binding.outputs = {last ? output.data() : stored.back().data()};
      }
      reduced.push_back(buffer(static_cast<std::size_t>(rows_), DType::f64));
      binding.reduction = reduced.back().data();
      run(named_.name + "_stage" + std::to_string(k), program, binding);
    }
    REQUIRE(output.intact());
    return output.taken();
  }

  bool vector = false;  ///< whether the kernel that ran last went by runs

 private:
  [[nodiscard]] Buffer buffer(std::size_t count, DType type) const {
    return {count * size_of(type), misaligned_ ? size_of(type) : 0};
  }
  [[nodiscard]] Buffer result() const {
    const compute::Program& last = named_.program.stages.back().program;
    return buffer(static_cast<std::size_t>(rows_ * length_),
                  last.type_of(last.outputs.front().value));
  }
  /// The rows' tree as one block has it, where a launch would cut them up.
  [[nodiscard]] cuda::ReducePlan plan() const {
    cuda::ReducePlan plan = cuda::plan_reduction(Dims{rows_, length_}, 0b10);
    if (plan.splits > 1) {
      plan.chunk *= plan.splits;
      plan.splits = 1;
    }
    return plan;
  }

  void run(const std::string& name, const compute::Program& program,
           const compute::Binding& binding) {
    cuda::LaunchPlan launch = cuda::plan_launch(program, cuda::kernel_shape(program), binding, 132);
    if (program.reduction) {
      launch.choices.plan = plan();
      launch.blocks = static_cast<unsigned>(launch.choices.plan.blocks());
    }
    cuda::ArgumentBuffer arguments(program, binding, launch.choices);
    const EmulatedKernel* const kernel = emulated_kernel(name.c_str());
    REQUIRE(kernel != nullptr);
    emulate(launch.blocks, launch.threads, [&] { kernel->thread(arguments.data()); });
  }

  const NamedRows& named_;
  const std::int64_t rows_, length_;
  const bool misaligned_;
  std::vector<Buffer> inputs_;
  std::vector<std::uint64_t> scalars_;
};

}  // namespace

TEST_CASE("emulated row kernels have the bits of their stages") {
  struct Shape {
    unsigned steps;
    std::int64_t rows, length;
  };
  const std::vector<Shape> shapes = {
      {1, 1, 2},    {1, 5, 3},    {1, 300, 7},  {1, 33, 64},    {1, 7, 300},
      {1, 3, 2048}, {2, 3, 2049}, {2, 2, 4096}, {2, 3, 3001},   {4, 2, 5000},
      {4, 2, 8192}, {4, 1, 6145}, {8, 2, 9000}, {8, 1, 16'384}, {8, 2, 14'337},
  };
  std::set<bool> vectors;
  unsigned seed = 0;
  for (const NamedRows& named : sample_rows()) {
    for (const Shape& shape : shapes) {
      if (std::find(named.steps.begin(), named.steps.end(), shape.steps) == named.steps.end()) {
        continue;
      }
      for (const bool misaligned : {false, true}) {
        INFO(named.name << " over [" << shape.rows << ", " << shape.length << "]"
                        << (misaligned ? ", misaligned" : ""));
        Rows rows(named, shape.rows, shape.length, ++seed, misaligned);
        CHECK(rows.together(shape.steps) == rows.apart());
        vectors.insert(rows.vector);
      }
    }
  }
  CHECK(vectors.size() == 2);
}
