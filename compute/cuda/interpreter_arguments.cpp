#include "compute/cuda/interpreter_arguments.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "compute/cuda/alignment.hpp"

namespace forebay::cuda {

using compute::Access;
using compute::Binding;
using compute::Program;

namespace {

/// The dimensions in the kernels' order: the kept ones first, and those of tiles last.
struct Order {
  std::array<std::uint8_t, kMaxRank> dims{};
  unsigned rank = 0;
  unsigned kept = 0;

  explicit Order(const Program& program, const TilePlan& tiles = {}) {
    if (!needs_coordinates(program)) return;
    for (const bool reduced : {false, true}) {
      for (std::uint8_t d = 0; d < program.rank; ++d) {
        if ((program.reduced_dims >> d & 1) == reduced) dims[rank++] = d;
      }
      if (!reduced) kept = rank;
    }
    if (tiles.blocks == 0) return;
    std::rotate(dims.begin() + tiles.across, dims.begin() + tiles.across + 1,
                dims.begin() + rank - 1);
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

std::uint64_t bits_of(double value) noexcept {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
std::uint32_t bits_of(float value) noexcept {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// A scalar as it is held.
std::uint64_t hold(std::uint64_t bits, DType type) noexcept {
  switch (type) {
    case DType::f16: {
      half value;
      value.bits = static_cast<std::uint16_t>(bits);
      return bits_of(static_cast<float>(value));
    }
    case DType::bf16: {
      bfloat16 value;
      value.bits = static_cast<std::uint16_t>(bits);
      return bits_of(static_cast<float>(value));
    }
    case DType::u8:
      return bits & 255;
    case DType::boolean:
      return bits != 0 ? 1 : 0;
    default:
      return bits;
  }
}

/// What nothing reduces to, as totals of `type` are held.
std::uint64_t identity_of(compute::Identity identity, DType type) noexcept {
  using compute::Identity;
  const bool high = identity == Identity::highest;
  const auto least = std::numeric_limits<std::int64_t>::min();
  if (identity == Identity::zero) return 0;
  if (identity == Identity::one) return type == DType::f64 ? bits_of(1.0) : 1;
  switch (type) {
    case DType::f64:
      return bits_of(high ? std::numeric_limits<double>::infinity()
                          : -std::numeric_limits<double>::infinity());
    case DType::i64:
      return static_cast<std::uint64_t>(high ? ~least : least);
    case DType::i32:
      return high ? 0x7fffffffU : 0x80000000U;
    case DType::u8:
      return high ? 255 : 0;
    case DType::boolean:
      return high ? 1 : 0;
    default:
      return bits_of(high ? std::numeric_limits<float>::infinity()
                          : -std::numeric_limits<float>::infinity());
  }
}

FbJoin join_of(const compute::ReduceRule& rule, DType value) noexcept {
  using compute::Op;
  const DType held = value == DType::f16 || value == DType::bf16     ? DType::f32
                     : value == DType::u8 || value == DType::boolean ? DType::i32
                                                                     : value;
  struct Row {
    Op join;
    bool indexed;
    DType value;
    FbJoin code;
  };
  constexpr Op best_min = Op::min;
  constexpr Op best_max = Op::max;
  constexpr Op add = Op::add;
  constexpr Op mul = Op::mul;
  constexpr Op min = Op::min;
  constexpr Op max = Op::max;
  static constexpr Row kRows[] = {
#define FB_ROW(name, value, term, total) {name, false, DType::value, kFbJoin_##name##_##value},
      FB_JOINS(FB_ROW)
#undef FB_ROW
#define FB_ROW(name, type) {name, true, DType::type, kFbJoin_##name##_##type},
          FB_BEST_JOINS(FB_ROW)
#undef FB_ROW
  };
  for (const Row& row : kRows) {
    if (row.join == rule.join && row.indexed == rule.indexed && row.value == held) return row.code;
  }
  return {};
}

}  // namespace

std::size_t interpreter_bytes(const Program& program, const Bytecode& bytecode) noexcept {
  const std::size_t rank = Order(program).rank;
  std::size_t strided = 0;
  for (const compute::Leaf& leaf : program.leaves) strided += leaf.access == Access::strided;
  return sizeof(FbHead) + (program.leaves.size() + program.outputs.size()) * sizeof(FbBuffer) +
         (3 + strided) * rank * 8 + (bytecode.scalar_words + bytecode.code.size()) * 4;
}

InterpreterArguments::InterpreterArguments(const Program& program, const Bytecode& bytecode,
                                           const Binding& binding, const InterpreterPlan& plan) {
  put_head(program, binding, plan);
  if (program.reduction) {
    put_reduction(program, binding, plan.launch.choices);
    put_ahead(program, bytecode, binding, plan.launch.choices.plan);
  }
  put_body(program, bytecode, binding, plan);
  std::memcpy(bytes_.data(), &head_, sizeof head_);
}

void InterpreterArguments::put_head(const Program& program, const Binding& binding,
                                    const InterpreterPlan& plan) {
  head_.count = 1;
  for (const std::int64_t extent : binding.extents) head_.count *= extent;
  head_.piece = plan.piece;
  head_.piece_log2 = static_cast<unsigned>(std::countr_zero(plan.piece));
  head_.run_log2 = static_cast<unsigned>(std::countr_zero(plan.run));
  // Blocks look at indices up to one block's worth beyond the end.
  head_.narrow = head_.count < std::int64_t{std::numeric_limits<std::int32_t>::max()} - 65536;
  for (const compute::Leaf& leaf : program.leaves) {
    if (leaf.access != Access::single && size_of(leaf.type) < 4) head_.widened = 1;
  }
}

void InterpreterArguments::put_reduction(const Program& program, const Binding& binding,
                                         const LaunchChoices& choices) {
  const DType value = program.type_of(program.reduction->value);
  const compute::ReduceRule rule = rule_of(program.reduction->op, value);
  head_.join = join_of(rule, value);
  head_.identity = identity_of(rule.identity, rule.total);
  head_.indexed = rule.indexed;
  head_.total_wide = is_wide(rule.total);
  head_.result_form = form_of(rule.result);
  head_.real = value == DType::f32;
  head_.mean = rule.divides;
  const ReducePlan& plan = choices.plan;
  head_.result = binding.reduction;
  head_.partials = static_cast<unsigned long long*>(choices.partials);
  head_.mailbox = reinterpret_cast<unsigned long long*>(binding.mailbox);
  head_.ticket = binding.ticket;
  head_.kept = plan.kept;
  head_.reduced = plan.reduced;
  head_.chunk = plan.chunk;
  head_.splits = plan.splits;
  head_.tiles = static_cast<unsigned>(plan.tiles);
  const Division division = division_by(static_cast<std::uint64_t>(plan.tiles));
  head_.tiles_magic = division.magic;
  head_.tiles_shift = division.shift;
  head_.group_log2 = plan.group_log2;
  head_.columns_log2 = plan.columns_log2;
  head_.inner = plan.inner;
}

void InterpreterArguments::put_ahead(const Program& program, const Bytecode& bytecode,
                                     const Binding& binding, const ReducePlan& plan) {
  if (bytecode.leaves.empty() || plan.kept != 1) return;
  const std::size_t k = bytecode.leaves[0].leaf;
  if (program.leaves[k].access != Access::linear) return;
  const auto size = static_cast<std::int64_t>(size_of(program.leaves[k].type));
  head_.ahead = static_cast<const unsigned char*>(binding.leaves[k]);
  head_.ahead_end = head_.ahead + plan.reduced * size;
  head_.ahead_bytes = plan.chunk * size;
}

void InterpreterArguments::put_body(const Program& program, const Bytecode& bytecode,
                                    const Binding& binding, const InterpreterPlan& plan) {
  const TilePlan& tiles = plan.launch.choices.tiles;
  const Order order(program, tiles);
  head_.rank = order.rank;
  head_.kept_dims = order.kept;
  head_.leaves = static_cast<unsigned>(bytecode.leaves.size());
  head_.inner_tiles = tiles.inner_tiles;
  head_.across_tiles = tiles.across_tiles;
  if (tiles.blocks > 0) {
    head_.wide_log2 = tiles.wide_log2();
    head_.across_log2 = tiles.across_log2();
    head_.copy_log2 = plan.launch.choices.copy_log2;
    head_.unstaged = head_.leaves - static_cast<unsigned>(std::popcount(tiles.leaves));
  }
  Dims index_strides = binding.extents;
  std::int64_t step = 1;
  for (std::size_t d = index_strides.size(); d-- > 0;) {
    index_strides[d] = step;
    step *= binding.extents[d];
  }
  const bool rows = program.reduction.has_value();
  // Where there is one, the dimension that pieces run along; a map without strides has only one.
  const std::size_t inner = order.rank > 0 ? order.dims[order.rank - 1] : 0;
  const bool one_walked = rows && order.rank - order.kept == 1;
  const auto words = [](std::size_t bytes) { return static_cast<unsigned>(bytes / 8); };
  const std::size_t buffers = bytecode.leaves.size() + program.outputs.size();
  head_.outputs_at = words(bytecode.leaves.size() * sizeof(FbBuffer));
  head_.singles_at = words(buffers * sizeof(FbBuffer));
  head_.dims_at = head_.singles_at + words(bytecode.singles.size() * sizeof(FbBuffer));
  head_.index_strides_at = head_.dims_at + 2 * order.rank;
  unsigned strides_at = head_.index_strides_at;

  const auto buffer_of = [&](const void* address, DType type, bool strided, const Dims& strides) {
    FbBuffer buffer{};
    buffer.address = const_cast<void*>(address);
    buffer.form = form_of(type) & 7U;
    buffer.size_log2 = static_cast<unsigned>(std::countr_zero(size_of(type))) & 3U;
    buffer.strided = strided;
    const bool by_index = order.rank == 0;
    buffer.packed =
        by_index ? is_aligned(address, size_of(type), plan.piece)
                 : is_packed(address, size_of(type), strides, binding.extents, inner, plan.piece);
    buffer.straight = buffer.packed && tiles.blocks == 0 && (rows ? one_walked : !strided);
    if (strided) strides_at += order.rank;
    if (strided || rows) {
      buffer.strides_at = static_cast<std::uint16_t>(strided ? strides_at : head_.index_strides_at);
    }
    return buffer;
  };

  Body body(bytes_.data());
  std::size_t stage_at = std::size_t{4} * kFbMapElements * bytecode.slots * plan.launch.threads;
  for (const Bytecode::Placed& placed : bytecode.leaves) {
    const compute::Leaf& leaf = program.leaves[placed.leaf];
    const bool strided = leaf.access == Access::strided;
    FbBuffer buffer = buffer_of(binding.leaves[placed.leaf], leaf.type, strided,
                                strided ? binding.strides[placed.leaf] : index_strides);
    buffer.slot = placed.slot & (kFbScalar - 1U);
    buffer.read = placed.read;
    if (tiles.blocks > 0 && (tiles.leaves >> placed.leaf & 1) != 0) {
      buffer.staged = 1;
      buffer.stage_at = static_cast<std::uint16_t>(stage_at / 16);
      stage_at += staged_bytes(tiles.tile, leaf.type);
    }
    body.put(buffer);
  }
  for (std::size_t k = 0; k < program.outputs.size(); ++k) {
    body.put(buffer_of(binding.outputs[k], program.type_of(program.outputs[k].value), false,
                       index_strides));
  }
  for (const std::uint16_t leaf : bytecode.singles) {
    body.put(buffer_of(binding.leaves[leaf], program.leaves[leaf].type, false, index_strides));
  }
  for (unsigned n = 0; n < order.rank; ++n) {
    const std::int64_t extent = binding.extents[order.dims[n]];
    const Division division = division_by(static_cast<std::uint64_t>(extent));
    body.put(extent);
    body.put(division.magic);
    body.put(division.shift);
  }
  for (unsigned n = 0; n < order.rank; ++n) body.put(index_strides[order.dims[n]]);
  for (const Bytecode::Placed& placed : bytecode.leaves) {
    if (program.leaves[placed.leaf].access != Access::strided) continue;
    for (unsigned n = 0; n < order.rank; ++n) {
      body.put(binding.strides[placed.leaf][order.dims[n]]);
    }
  }
  head_.scalars_at = body.at(4);
  for (std::size_t k = 0; k < program.scalars.size(); ++k) {
    const std::uint64_t bits = hold(binding.scalars[k], program.scalars[k]);
    body.put(static_cast<std::uint32_t>(bits));
    if (is_wide(program.scalars[k])) body.put(static_cast<std::uint32_t>(bits >> 32));
  }
  head_.code_at = body.at(4);
  body.put_all(bytecode.code);
}

}  // namespace forebay::cuda
