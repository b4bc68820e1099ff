// The example of docs/backend.md, which shows everything between the two marks.
#pragma once

// [snippet]
#include <bit>
#include <cstring>
#include <forebay/compute/backend.hpp>
#include <vector>

namespace example {

using namespace forebay;
using namespace forebay::compute;

/// Runs programs over f32 element by element, with the four operations that it knows.
class PlainExecutor final : public Executor {
 public:
  std::string_view name() const noexcept override { return "plain"; }

  Readiness run(const Program& program, const Binding& binding, const Stream& /*stream*/) override {
    require_known(program);
    std::vector<float> values;  // of one element: leaves, then scalars, then instructions
    std::vector<double> sums;   // of the reduction, by kept element
    for_each(binding.extents, [&](const Dims& at, std::int64_t index) {
      values.clear();
      for (std::size_t k = 0; k < program.leaves.size(); ++k) {
        values.push_back(read(program.leaves[k], binding, k, at, index));
      }
      for (const auto bits : binding.scalars) {
        values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
      }
      for (const Instruction& step : program.code) values.push_back(compute(step, values));
      for (std::size_t k = 0; k < program.outputs.size(); ++k) {
        static_cast<float*>(binding.outputs[k])[index] = values[program.outputs[k].value];
      }
      if (program.reduction) {
        const std::size_t kept = kept_index(program, binding.extents, at);
        if (kept >= sums.size()) sums.resize(kept + 1);
        sums[kept] += values[program.reduction->value];
      }
    });
    for (std::size_t kept = 0; kept < sums.size(); ++kept) {
      const auto all = static_cast<double>(numel(binding.extents));
      const double count = all / static_cast<double>(sums.size());
      const bool mean = program.reduction->op == ReduceOp::mean;
      static_cast<float*>(binding.reduction)[kept] =
          static_cast<float>(mean ? sums[kept] / count : sums[kept]);
    }
    return Readiness::done;
  }

 private:
  static void require_known(const Program& program) {
    const auto known = [](DType type) { return type == DType::f32; };
    bool all = !program.reduction || program.reduction->op == ReduceOp::sum ||
               program.reduction->op == ReduceOp::mean;
    for (const Leaf& leaf : program.leaves) all = all && known(leaf.type);
    for (const DType scalar : program.scalars) all = all && known(scalar);
    for (const Instruction& step : program.code) all = all && known(step.type);
    if (!all) throw Error("the plain backend knows f32, and sums and means of it");
  }

  static std::int64_t numel(const Dims& extents) {
    std::int64_t count = 1;
    for (const std::int64_t extent : extents) count *= extent;
    return count;
  }

  template <typename Visit>
  static void for_each(const Dims& extents, Visit&& visit) {
    for (std::int64_t index = 0; index < numel(extents); ++index) {
      Dims at = extents;
      std::int64_t rest = index;
      for (std::size_t d = extents.size(); d-- > 0; rest /= extents[d]) at[d] = rest % extents[d];
      visit(at, index);
    }
  }

  static float read(const Leaf& leaf, const Binding& binding, std::size_t k, const Dims& at,
                    std::int64_t index) {
    std::int64_t offset = leaf.access == Access::linear ? index : 0;
    if (leaf.access == Access::strided) {
      for (std::size_t d = 0; d < at.size(); ++d) offset += at[d] * binding.strides[k][d];
    }
    return static_cast<const float*>(binding.leaves[k])[offset];
  }

  static float compute(const Instruction& step, const std::vector<float>& values) {
    const float a = values[step.a];
    const float b = values[step.b];
    switch (step.op) {
      case Op::neg:
        return -a;
      case Op::add:
        return a + b;
      case Op::sub:
        return a - b;
      case Op::mul:
        return a * b;
      default:
        throw Error(std::string("the plain backend has no operation ") + to_string(step.op));
    }
  }

  static std::size_t kept_index(const Program& program, const Dims& extents, const Dims& at) {
    std::int64_t index = 0;
    for (std::size_t d = 0; d < extents.size(); ++d) {
      const bool reduced = (program.reduced_dims >> d & 1U) != 0;
      if (!reduced) index = index * extents[d] + at[d];
    }
    return static_cast<std::size_t>(index);
  }
};

class PlainBackend final : public Backend {
 public:
  PlainBackend() { executors_.push_back(std::make_unique<PlainExecutor>()); }

  Limits limits() const noexcept override { return {}; }
  std::span<const std::unique_ptr<Executor>> executors() const noexcept override {
    return executors_;
  }
  void matmul(const MatmulArgs& args, const Stream& /*stream*/) override {
    for (std::int64_t row = 0; row < args.m; ++row) {
      for (std::int64_t column = 0; column < args.n; ++column) {
        double sum = 0;
        for (std::int64_t i = 0; i < args.k; ++i) {
          const float a =
              args.a[args.a_transposed ? i * args.a_stride + row : row * args.a_stride + i];
          const float b =
              args.b[args.b_transposed ? column * args.b_stride + i : i * args.b_stride + column];
          sum += double{a} * b;
        }
        args.c[row * args.n + column] = static_cast<float>(sum);
      }
    }
  }
  void upload_many(std::span<const Upload> uploads, const Stream& /*stream*/) override {
    for (const Upload& u : uploads) {
      if (u.source_type != u.target_type) {
        throw Error("the plain backend converts nothing on the way");
      }
      std::memcpy(u.target, u.source, u.count * size_of(u.target_type));
    }
  }
  void download(const void* source, void* target, std::size_t bytes,
                const Stream& /*stream*/) override {
    std::memcpy(target, source, bytes);
  }
  void copy(const void* source, void* target, std::size_t bytes,
            const Stream& /*stream*/) override {
    std::memmove(target, source, bytes);
  }
  void run(const CustomKernel& kernel, std::span<void* const> arguments, unsigned blocks,
           const Stream& /*stream*/) override {
    kernel.host(arguments, blocks);
  }

 private:
  std::vector<std::unique_ptr<Executor>> executors_;
};

/// Devices of the host that are opened from now on compute with it; returns what they had before.
inline BackendFactory use_plain_backend() {
  return register_backend(DeviceKind::host, [](Device& /*device*/) -> std::unique_ptr<Backend> {
    return std::make_unique<PlainBackend>();
  });
}

}  // namespace example
// [/snippet]
