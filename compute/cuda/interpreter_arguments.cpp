#include "compute/cuda/interpreter_arguments.hpp"

#include <cstring>
#include <limits>

namespace forebay::cuda {

using compute::Access;
using compute::Binding;
using compute::Program;

namespace {

/// The dimensions in the kernels' order: the kept ones first.
struct Order {
  std::array<std::uint8_t, kMaxRank> dims{};
  unsigned rank = 0;
  unsigned kept = 0;

  explicit Order(const Program& program) {
    if (!needs_coordinates(program)) return;
    for (const bool reduced : {false, true}) {
      for (std::uint8_t d = 0; d < program.rank; ++d) {
        if ((program.reduced_dims >> d & 1) == reduced) dims[rank++] = d;
      }
      if (!reduced) kept = rank;
    }
  }
};

/// Writes words of eight bytes, then of four, behind the head.
class Body {
 public:
  explicit Body(std::byte* bytes) : begin_(bytes + sizeof(FbHead)), next_(begin_) {}

  template <typename T>
  void put(T value) {
    std::memcpy(next_, &value, sizeof value);
    next_ += sizeof value;
  }
  template <typename T>
  void put_all(const std::vector<T>& values) {
    if (values.empty()) return;
    std::memcpy(next_, values.data(), values.size() * sizeof(T));
    next_ += values.size() * sizeof(T);
  }
  /// The place of what comes next, in words of `bytes`.
  [[nodiscard]] unsigned at(std::size_t bytes) const {
    return static_cast<unsigned>(static_cast<std::size_t>(next_ - begin_) / bytes);
  }

 private:
  std::byte* const begin_;
  std::byte* next_;
};

}  // namespace

std::size_t interpreter_bytes(const Program& program, const Bytecode& bytecode) noexcept {
  const std::size_t rank = Order(program).rank;
  std::size_t strided = 0;
  for (const compute::Leaf& leaf : program.leaves) strided += leaf.access == Access::strided;
  const std::size_t wide =
      program.leaves.size() + program.outputs.size() + 3 * rank + strided * rank;
  return sizeof(FbHead) + wide * 8 + (program.scalars.size() + bytecode.code.size()) * 4;
}

InterpreterArguments::InterpreterArguments(const Program& program, const Bytecode& bytecode,
                                           const Binding& binding, const LaunchChoices& choices) {
  put_head(program, binding, choices);
  put_leaves(program, bytecode, binding);
  std::memcpy(bytes_.data(), &head_, sizeof head_);
}

void InterpreterArguments::put_head(const Program& program, const Binding& binding,
                                    const LaunchChoices& choices) {
  head_.count = 1;
  for (const std::int64_t extent : binding.extents) head_.count *= extent;
  head_.vector = choices.vector;
  // Blocks look at indices up to one block's worth beyond the end.
  head_.narrow = head_.count < std::int64_t{std::numeric_limits<std::int32_t>::max()} - 65536;
  if (!program.reduction) return;
  const ReducePlan& plan = choices.plan;
  head_.result = binding.reduction;
  head_.partials = choices.scratch.partials;
  head_.tickets = static_cast<unsigned*>(choices.scratch.tickets);
  head_.mailbox = reinterpret_cast<unsigned long long*>(binding.mailbox);
  head_.ticket = binding.ticket;
  head_.kept = plan.kept;
  head_.reduced = plan.reduced;
  head_.chunk = plan.chunk;
  head_.splits = plan.splits;
  head_.group_log2 = plan.group_log2;
  head_.columns_log2 = plan.columns_log2;
  head_.inner = plan.inner;
  head_.real = program.type_of(program.reduction->value) == DType::f32;
  head_.mean = program.reduction->op == compute::ReduceOp::mean;
}

void InterpreterArguments::put_leaves(const Program& program, const Bytecode& bytecode,
                                      const Binding& binding) {
  const Order order(program);
  head_.rank = order.rank;
  head_.kept_dims = order.kept;
  head_.leaves = static_cast<unsigned>(bytecode.leaves.size());
  head_.scratch = bytecode.scratch;
  Body body(bytes_.data());
  for (std::size_t k = 0; k < bytecode.leaves.size(); ++k) {
    const std::uint16_t leaf = bytecode.leaves[k];
    body.put(binding.leaves[leaf]);
    if (program.leaves[leaf].access == Access::strided) head_.strided |= 1U << k;
  }
  head_.singles_at = body.at(8);
  for (const std::uint16_t leaf : bytecode.singles) body.put(binding.leaves[leaf]);
  head_.outputs_at = body.at(8);
  for (void* const output : binding.outputs) body.put(output);
  head_.dims_at = body.at(8);
  for (unsigned n = 0; n < order.rank; ++n) {
    const std::int64_t extent = binding.extents[order.dims[n]];
    const Division division = division_by(static_cast<std::uint64_t>(extent));
    body.put(extent);
    body.put(division.magic);
    body.put(division.shift);
  }
  head_.index_strides_at = body.at(8);
  std::array<std::int64_t, kMaxRank> strides{};
  std::int64_t step = 1;
  for (std::size_t d = order.rank; d-- > 0;) {
    strides[d] = step;
    step *= binding.extents[d];
  }
  for (unsigned n = 0; n < order.rank; ++n) body.put(strides[order.dims[n]]);
  head_.strides_at = body.at(8);
  for (const std::uint16_t leaf : bytecode.leaves) {
    if (program.leaves[leaf].access != Access::strided) continue;
    for (unsigned n = 0; n < order.rank; ++n) body.put(binding.strides[leaf][order.dims[n]]);
  }
  head_.scalars_at = body.at(4);
  for (const std::uint64_t bits : binding.scalars) body.put(static_cast<std::uint32_t>(bits));
  head_.code_at = body.at(4);
  body.put_all(bytecode.code);
}

}  // namespace forebay::cuda
