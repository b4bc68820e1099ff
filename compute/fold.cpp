#include "compute/fold.hpp"

#include <array>

#include "compute/convert.hpp"
#include "compute/host/kernels.hpp"

namespace forebay::compute {

using host::block_type;

std::uint64_t fold_cast(ConstantValue value, DType type) {
  std::uint64_t bits = 0;
  convert(&value.bits, value.type, &bits, type, 1);
  return bits;
}

// One element through the loops of the host.
std::optional<std::uint64_t> fold(Op op, std::span<const ConstantValue> operands) {
  const OpKind kind = kind_of(op);
  if (kind == OpKind::draw_32 || kind == OpKind::draw_64) return std::nullopt;
  const DType type = operands[kind == OpKind::choose ? 1 : 0].type;
  const DType result = result_type(op, type);
  if (kind == OpKind::cast) return fold_cast(operands[0], result);
  std::array<std::uint64_t, 3> values{};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    values[i] = fold_cast(operands[i], block_type(operands[i].type));
  }
  std::uint64_t bits = 0;
  host::find_kernel(op, block_type(operands[0].type), block_type(result))(&values[0], &values[1],
                                                                          &values[2], &bits, 1, 0);
  return host::is_narrow(result) ? fold_cast({DType::f32, bits}, result) : bits;
}

}  // namespace forebay::compute
