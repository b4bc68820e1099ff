#include "tools/forebay/compute_cases.hpp"

#include <bit>
#include <cstddef>

namespace forebay::tools {

using compute::Access;
using compute::Op;
using compute::Program;
using compute::Value;

namespace {

constexpr std::int64_t kRow = 4096;
constexpr std::int64_t kPitch = kRow + 64;  ///< elements between rows of the wider array
constexpr compute::Leaf kLinear{DType::f32, Access::linear};
constexpr compute::Leaf kStrided{DType::f32, Access::strided};

ComputeCase map_of(std::string name, std::vector<compute::Leaf> leaves, std::int64_t elements) {
  ComputeCase one;
  one.name = std::move(name);
  one.program.leaves = std::move(leaves);
  one.extents = Dims{elements};
  one.strides.assign(one.program.leaves.size(), {});
  one.elements = elements;
  one.bytes = static_cast<std::uint64_t>(elements) * 4 * (one.program.leaves.size() + 1);
  one.program.outputs = {{0}};
  return one;
}

/// x * s0 + s1 * s2 + s3 …: every operation has a scalar of its own.
ComputeCase chain_of(unsigned length, std::int64_t elements) {
  ComputeCase one = map_of("chain" + std::to_string(length), {kLinear}, elements);
  for (unsigned k = 0; k < length; ++k) {
    const bool times = k % 2 == 0;
    one.program.scalars.push_back(DType::f32);
    one.scalars.push_back(
        std::bit_cast<std::uint32_t>(times ? 1.0009765625F : 0.5F + static_cast<float>(k)));
    const auto before = static_cast<Value>(k == 0 ? 0 : length + k);
    one.program.code.push_back(
        {times ? Op::mul : Op::add, DType::f32, before, static_cast<Value>(1 + k), 0});
  }
  one.program.outputs = {{static_cast<Value>(2 * length)}};
  return one;
}

ComputeCase sum_of(std::string name, Dims extents, std::uint8_t reduced_dims) {
  ComputeCase one;
  one.name = std::move(name);
  one.program.leaves = {kLinear};
  one.strides = {{}};
  one.program.rank = static_cast<std::uint8_t>(extents.size());
  one.program.reduction = compute::Reduction{compute::ReduceOp::sum, 0};
  one.program.reduced_dims = reduced_dims;
  one.elements = 1;
  for (const std::int64_t extent : extents) one.elements *= extent;
  one.extents = std::move(extents);
  one.bytes = static_cast<std::uint64_t>(one.elements) * 4;
  return one;
}

}  // namespace

std::int64_t leaf_elements(std::int64_t elements) { return elements / kRow * kPitch; }

std::vector<ComputeCase> compute_cases(std::int64_t elements) {
  const std::int64_t rows = elements / kRow;
  const std::int64_t whole = rows * kRow;
  std::vector<ComputeCase> cases;
  cases.push_back(map_of("copy", {kLinear}, whole));
  ComputeCase add = map_of("add", {kLinear, kLinear}, whole);
  add.program.code = {{Op::add, DType::f32, 0, 1, 0}};
  add.program.outputs = {{2}};
  cases.push_back(add);
  for (const unsigned length : {1U, 3U, 10U, 40U}) cases.push_back(chain_of(length, whole));

  ComputeCase pitched = map_of("strided", {kStrided}, whole);
  pitched.program.rank = 2;
  pitched.extents = Dims{rows, kRow};
  pitched.strides = {Dims{kPitch, 1}};
  pitched.program.scalars = {DType::f32};
  pitched.scalars = {std::bit_cast<std::uint32_t>(1.0F)};
  pitched.program.code = {{Op::add, DType::f32, 0, 1, 0}};
  pitched.program.outputs = {{2}};
  cases.push_back(pitched);

  ComputeCase row = map_of("broadcast_row", {kLinear, kStrided}, whole);
  row.program.rank = 2;
  row.extents = Dims{rows, kRow};
  row.strides = {{}, Dims{0, 1}};
  row.program.code = {{Op::add, DType::f32, 0, 1, 0}};
  row.program.outputs = {{2}};
  row.bytes = static_cast<std::uint64_t>(whole) * 8;
  cases.push_back(row);

  cases.push_back(sum_of("sum", Dims{whole}, 0b1));
  cases.push_back(sum_of("row_sum", Dims{rows, kRow}, 0b10));
  cases.push_back(sum_of("column_sum", Dims{rows, kRow}, 0b01));
  return cases;
}

std::vector<ComputeCase> typed_cases(std::int64_t elements) {
  struct One {
    DType type;
    std::uint64_t bits;
  };
  constexpr One kOnes[] = {{DType::f64, 0x3ff0000000000000U},
                           {DType::f16, 0x3c00U},
                           {DType::bf16, 0x3f80U},
                           {DType::i64, 1},
                           {DType::i32, 1},
                           {DType::u8, 1},
                           {DType::boolean, 1}};
  const std::int64_t bytes = elements / kRow * kRow * 4;
  std::vector<ComputeCase> cases;
  for (const One& one : kOnes) {
    const auto size = static_cast<std::int64_t>(size_of(one.type));
    ComputeCase typed = map_of("add_" + std::string(to_string(one.type)),
                               {{one.type, Access::linear}}, bytes / size);
    typed.bytes = static_cast<std::uint64_t>(2 * bytes);
    typed.program.scalars = {one.type};
    typed.scalars = {one.bits};
    typed.program.code = {{Op::add, one.type, 0, 1, 0}};
    typed.program.outputs = {{2}};
    cases.push_back(std::move(typed));
  }
  return cases;
}

void run_plain_loop(const ComputeCase& one, const std::vector<const float*>& leaves, float* out) {
  const Program& program = one.program;
  const std::int64_t columns = one.extents[one.extents.size() - 1];
  if (program.reduction) {
    const bool by_columns = program.reduced_dims == 0b01 && program.rank == 2;
    const std::int64_t rows = one.elements / columns;
    if (by_columns) {
      for (std::int64_t c = 0; c < columns; ++c) out[c] = 0;
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      const float* const row = leaves[0] + r * columns;
      if (by_columns) {
        for (std::int64_t c = 0; c < columns; ++c) out[c] += row[c];
        continue;
      }
      double sum = 0;
      for (std::int64_t c = 0; c < columns; ++c) sum += static_cast<double>(row[c]);
      out[r] = static_cast<float>(sum);
    }
    return;
  }
  const auto row_of = [&](std::size_t k, std::int64_t r) {
    return leaves[k] + r * (one.strides[k].empty() ? columns : one.strides[k][0]);
  };
  std::vector<float> scalars;
  for (const std::uint64_t bits : one.scalars) {
    scalars.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  for (std::int64_t r = 0; r < one.elements / columns; ++r) {
    const float* const x = row_of(0, r);
    const float* const y = program.leaves.size() > 1 ? row_of(1, r) : nullptr;
    float* const z = out + r * columns;
    for (std::int64_t c = 0; c < columns; ++c) {
      float value = x[c];
      if (y != nullptr) value += y[c];
      for (std::size_t k = 0; k < scalars.size(); ++k) {
        value = program.code[k].op == Op::mul ? value * scalars[k] : value + scalars[k];
      }
      z[c] = value;
    }
  }
}

}  // namespace forebay::tools
