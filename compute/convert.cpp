#include "compute/convert.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "compute/host/kernels.hpp"

namespace forebay::compute {
namespace {

using host::block_type;
using host::is_as_in_memory;

// Narrow types pass through floats and booleans through bytes that are 0 or 1, block by block.
constexpr std::size_t kBlock = 1024;

void convert_block(const std::byte* source, DType source_type, std::byte* target, DType target_type,
                   std::size_t n) noexcept {
  alignas(64) std::array<float, kBlock> wide;
  alignas(64) std::array<float, kBlock> odd;
  const void* from = source;
  if (!is_as_in_memory(source_type)) {
    host::loading_kernel(source_type)(source, nullptr, nullptr, wide.data(), n, 0);
    from = wide.data();
  }
  if (host::is_narrow(target_type)) {
    host::odd_kernel(block_type(source_type))(from, nullptr, nullptr, odd.data(), n, 0);
    host::narrowing_kernel(target_type)(odd.data(), nullptr, nullptr, target, n, 0);
  } else {
    host::find_kernel(cast_to(target_type), block_type(source_type), target_type)(
        from, nullptr, nullptr, target, n, 0);
  }
}

}  // namespace

void convert(const void* source, DType source_type, void* target, DType target_type,
             std::size_t count) noexcept {
  if (count == 0) return;
  if (source_type == target_type && source_type != DType::boolean) {
    std::memcpy(target, source, count * size_of(source_type));
    return;
  }
  const auto* from = static_cast<const std::byte*>(source);
  auto* to = static_cast<std::byte*>(target);
  if (is_as_in_memory(source_type) && !host::is_narrow(target_type)) {
    host::find_kernel(cast_to(target_type), source_type, target_type)(source, nullptr, nullptr,
                                                                      target, count, 0);
    return;
  }
  for (std::size_t i = 0; i < count; i += kBlock) {
    convert_block(from + i * size_of(source_type), source_type, to + i * size_of(target_type),
                  target_type, std::min(kBlock, count - i));
  }
}

}  // namespace forebay::compute
