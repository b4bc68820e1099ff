// The one parameter of a generated kernel: its declaration as text, and its bytes for a launch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "compute/cuda/reduce_plan.hpp"
#include "compute/cuda/tile_plan.hpp"
#include "forebay/compute/backend.hpp"
#include "forebay/compute/program.hpp"

namespace forebay::cuda {

/// The bytes that a kernel's parameters may take on every device and driver.
inline constexpr std::size_t kParameterBytes = 4096;

/// Within these, the parameters of any program fit, every leaf priced as strided in eight
/// dimensions and every scalar as eight bytes.
inline constexpr compute::Limits kLimits{
    .max_ops = 216, .max_leaves = 30, .max_scalars = 192, .max_outputs = 8};

/// How a run goes through a kernel, decided for each launch and never part of the kernel.
struct LaunchChoices {
  bool vector = false;       ///< 16-byte accesses are aligned, and runs end with a row
  std::uint32_t packed = 0;  ///< bit k: so are those of the strided leaf k, side by side in a row
  ReducePlan plan;           ///< with a reduction
  TilePlan tiles;            ///< of a map that is walked by them
  unsigned copy_log2 = 0;    ///< and what is staged is copied by so many bytes (log2)
  void* partials = nullptr;  ///< scratch memory of a reduction that is split
};

/// The bytes of `struct Args`, in the order in which `declare_arguments` names the members:
/// everything of eight bytes first, then everything of four; smaller scalars take four.
class ArgumentBuffer {
 public:
  ArgumentBuffer(const compute::Program& program, const compute::Binding& binding,
                 const LaunchChoices& choices);
  [[nodiscard]] void* data() noexcept { return bytes_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  template <typename T>
  void put(T value);

  alignas(8) std::array<std::byte, kParameterBytes> bytes_;
  std::size_t size_ = 0;
};

[[nodiscard]] bool has_strided_leaf(const compute::Program& program);
/// Whether kernels of this program need coordinates: a strided leaf, or a reduction.
[[nodiscard]] bool needs_coordinates(const compute::Program& program);

/// The type of a reduction's totals in the code.
[[nodiscard]] std::string reduction_total(const compute::ReduceRule& rule);

/// `struct Args { … };` for a program. Members: leafK, strideK_D, outK, scalarK; count or the
/// reduction's; with coordinates extentD, magicD and shiftD; with strided leaves packed. A walk by
/// tiles has an extent of 1 in the two dimensions of the tiles, whose own ones are inner_extent and
/// across_extent; besides stepD, of the linear index, across_dim and the numbers of a TilePlan.
[[nodiscard]] std::string declare_arguments(const compute::Program& program, bool tiled = false);

/// Division of n < 2^31 by a fixed d >= 1: (high32(n * magic) + n) >> shift.
struct Division {
  std::uint32_t magic = 0;
  std::uint32_t shift = 0;
};
[[nodiscard]] Division division_by(std::uint64_t extent) noexcept;

}  // namespace forebay::cuda
