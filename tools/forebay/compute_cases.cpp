#include "tools/forebay/compute_cases.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <functional>
#include <numeric>

#include "tools/forebay/plain_loops.hpp"

namespace forebay::tools {

using compute::Access;
using compute::Op;
using compute::Program;
using compute::Value;

namespace {

constexpr std::int64_t kRow = kCaseRow;
constexpr std::int64_t kPitch = kRow + 64;  ///< elements between rows of the wider array
constexpr compute::Leaf kLinear{DType::f32, Access::linear};
constexpr compute::Leaf kStrided{DType::f32, Access::strided};

std::int64_t numel_of(const Dims& extents) {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

ComputeCase map_of(std::string name, std::vector<compute::Leaf> leaves, std::int64_t elements) {
  ComputeCase one;
  one.name = std::move(name);
  one.program.leaves = std::move(leaves);
  one.extents = Dims{elements};
  one.strides.assign(one.program.leaves.size(), {});
  one.elements = elements;
  one.bytes = static_cast<std::uint64_t>(elements) * size_of(one.program.leaves[0].type) *
              (one.program.leaves.size() + 1);
  one.program.outputs = {{0}};
  one.loop = &plain_copy;
  return one;
}

/// As many bytes as `elements` f32 elements have.
ComputeCase add_of(DType type, std::int64_t elements) {
  const auto count = elements * 4 / static_cast<std::int64_t>(size_of(type));
  const std::string name =
      type == DType::f32 ? "add" : std::string("add_") + std::string(to_string(type));
  ComputeCase one = map_of(name, {{type, Access::linear}, {type, Access::linear}}, count);
  one.program.code = {{Op::add, type, 0, 1, 0}};
  one.program.outputs = {{2}};
  switch (type) {  // integers wrap, so plain ones are unsigned
    case DType::f64:
      one.loop = &plain_add<double>;
      break;
    case DType::f32:
      one.loop = &plain_add<float>;
      break;
    case DType::i64:
      one.loop = &plain_add<std::uint64_t>;
      break;
    case DType::i32:
      one.loop = &plain_add<std::uint32_t>;
      break;
    case DType::u8:
      one.loop = &plain_add<std::uint8_t>;
      break;
    default:
      one.loop = nullptr;
      break;
  }
  return one;
}

ComputeCase triad_of(std::int64_t elements) {
  ComputeCase one = map_of("triad", {kLinear, kLinear}, elements);
  one.program.scalars = {DType::f32};
  one.scalars = {std::bit_cast<std::uint32_t>(3.0F)};
  one.program.code = {{Op::mul, DType::f32, 1, 2, 0}, {Op::add, DType::f32, 0, 3, 0}};
  one.program.outputs = {{4}};
  one.loop = &plain_triad;
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
  one.loop = plain_chain(length);
  return one;
}

/// x + x for a view of an array; its elements are as many as `extents` say, read and written once.
ComputeCase view_of(std::string name, DType type, Dims extents, Dims strides,
                    std::int64_t offset = 0) {
  ComputeCase one = map_of(std::move(name), {{type, Access::strided}}, numel_of(extents));
  one.program.rank = static_cast<std::uint8_t>(extents.size());
  one.extents = std::move(extents);
  one.strides = {std::move(strides)};
  one.first = offset;
  one.program.code = {{Op::add, type, 0, 0, 0}};
  one.program.outputs = {{1}};
  one.loop = nullptr;
  return one;
}

/// Rows of a wider array, as many bytes as `rows` of f32 elements.
ComputeCase pitched_of(DType type, std::int64_t rows) {
  const auto per_row = kRow * 4 / static_cast<std::int64_t>(size_of(type));
  return view_of("strided_" + std::string(to_string(type)), type, Dims{rows, per_row},
                 Dims{kPitch * 4 / static_cast<std::int64_t>(size_of(type)), 1});
}

/// An array of kRow columns by its columns, as many bytes as `rows` of f32 elements.
ComputeCase transposed_of(const std::string& name, DType type, std::int64_t rows) {
  return view_of(name, type, Dims{kRow, rows * 4 / static_cast<std::int64_t>(size_of(type))},
                 Dims{1, kRow});
}

ComputeCase sum_of(std::string name, Dims extents, std::uint8_t reduced_dims) {
  ComputeCase one;
  one.name = std::move(name);
  one.program.leaves = {kLinear};
  one.strides = {{}};
  one.program.rank = static_cast<std::uint8_t>(extents.size());
  one.program.reduction = compute::Reduction{compute::ReduceOp::sum, 0};
  one.program.reduced_dims = reduced_dims;
  one.elements = numel_of(extents);
  one.extents = std::move(extents);
  one.bytes = static_cast<std::uint64_t>(one.elements) * 4;
  one.loop = reduced_dims == 0b01 && one.program.rank == 2 ? &plain_column_sum : &plain_row_sum;
  return one;
}

ComputeCase dot_of(std::int64_t elements) {
  ComputeCase one = sum_of("dot", Dims{elements}, 0b1);
  one.program.leaves = {kLinear, kLinear};
  one.strides = {{}, {}};
  one.program.code = {{Op::mul, DType::f32, 0, 1, 0}};
  one.program.reduction->value = 2;
  one.bytes *= 2;
  return one;
}

}  // namespace

std::int64_t leaf_elements(std::int64_t elements) { return elements / kRow * kPitch; }

std::vector<ComputeCase> compute_cases(std::int64_t elements) {
  const std::int64_t rows = elements / kRow;
  const std::int64_t whole = rows * kRow;
  std::vector<ComputeCase> cases;
  cases.push_back(map_of("copy", {kLinear}, whole));
  for (const DType type : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i64, DType::i32,
                           DType::u8, DType::boolean}) {
    cases.push_back(add_of(type, whole));
  }
  cases.push_back(triad_of(whole));
  for (const unsigned length : {1U, 3U, 10U, 40U}) cases.push_back(chain_of(length, whole));

  ComputeCase pitched = map_of("strided", {kStrided}, whole);
  pitched.program.rank = 2;
  pitched.extents = Dims{rows, kRow};
  pitched.strides = {Dims{kPitch, 1}};
  pitched.program.scalars = {DType::f32};
  pitched.scalars = {std::bit_cast<std::uint32_t>(1.0F)};
  pitched.program.code = {{Op::add, DType::f32, 0, 1, 0}};
  pitched.program.outputs = {{2}};
  pitched.loop = &plain_add_scalar;
  cases.push_back(pitched);

  for (const DType type :
       {DType::f64, DType::f16, DType::bf16, DType::i64, DType::i32, DType::u8, DType::boolean}) {
    cases.push_back(pitched_of(type, rows));
  }
  cases.push_back(view_of("reversed", DType::f32, Dims{whole}, Dims{-1}, whole - 1));
  cases.push_back(transposed_of("transposed", DType::f32, rows));
  for (const DType type : {DType::f64, DType::f16, DType::u8}) {
    cases.push_back(transposed_of("transposed_" + std::string(to_string(type)), type, rows));
  }
  // Two dimensions of four exchanged, above rows of 256 elements.
  constexpr std::int64_t kShort = 256;
  cases.push_back(view_of("permuted", DType::f32, Dims{rows / 2, kRow / kShort, 2, kShort},
                          Dims{2 * kRow, kShort, kRow, 1}));

  ComputeCase row = map_of("broadcast_row", {kLinear, kStrided}, whole);
  row.program.rank = 2;
  row.extents = Dims{rows, kRow};
  row.strides = {{}, Dims{0, 1}};
  row.program.code = {{Op::add, DType::f32, 0, 1, 0}};
  row.program.outputs = {{2}};
  row.bytes = static_cast<std::uint64_t>(whole) * 8;
  row.loop = &plain_add<float>;
  cases.push_back(row);

  cases.push_back(dot_of(whole));
  cases.push_back(sum_of("sum", Dims{whole}, 0b1));
  cases.push_back(sum_of("row_sum", Dims{rows, kRow}, 0b10));
  cases.push_back(sum_of("column_sum", Dims{rows, kRow}, 0b01));
  return cases;
}

ComputeCase compute_case(const std::string& name, std::int64_t elements) {
  std::vector<ComputeCase> cases = compute_cases(elements);
  const auto found = std::find_if(cases.begin(), cases.end(),
                                  [&](const ComputeCase& one) { return one.name == name; });
  return std::move(*found);
}

}  // namespace forebay::tools
