// How a program is interpreted: which kernel, in which blocks, with how much shared memory.
#pragma once

#include <cstddef>

#include "compute/cuda/bytecode.hpp"
#include "compute/cuda/launch_plan.hpp"

namespace forebay::cuda {

/// The kernels of the interpreter: those for light operations on f32 and i32, of which reductions
/// by two steps and more have their own, those for any other program, that for maps by tiles, and
/// those for any program whose code is long or that holds many values at once.
enum class InterpreterKernel : unsigned {
  map,
  reduce,
  reduce_steps,
  map_typed,
  reduce_typed,
  map_tiled,
  map_large,
  reduce_large
};
inline constexpr unsigned kInterpreterKernels = 8;
/// Whether it is in the part of the image whose kernels share their functions.
[[nodiscard]] constexpr bool shares_functions(InterpreterKernel kernel) noexcept {
  return kernel >= InterpreterKernel::reduce_typed;
}

/// How many bytes the kernel's one parameter has. What a driver takes to hand it over grows with
/// that, so kernels for short programs have their own.
enum class ParameterLength : unsigned { brief, full };
inline constexpr unsigned kParameterLengths = 2;
[[nodiscard]] constexpr bool exists(InterpreterKernel kernel, ParameterLength length) noexcept {
  return length == ParameterLength::full || kernel <= InterpreterKernel::reduce_steps;
}
[[nodiscard]] constexpr std::size_t parameter_bytes(InterpreterKernel kernel,
                                                    ParameterLength length) noexcept {
  if (length == ParameterLength::brief) return kFbBriefBytes;
  return kernel >= InterpreterKernel::map_large ? kFbLargeBytes : kFbSmallBytes;
}

/// Shared memory of a block that the kernels declare themselves, rounded up.
inline constexpr std::size_t kInterpreterStaticBytes = 4608;
/// What the architectures have that have least, for one block.
inline constexpr std::size_t kLeastSharedLimit = 101376;

struct InterpreterPlan {
  LaunchPlan launch;  ///< the tree of a reduction is that of the generated kernel
  InterpreterKernel kernel = InterpreterKernel::map;
  ParameterLength length = ParameterLength::full;
  std::size_t shared_bytes = 0;
  /// Elements of a thread that follow each other by one stride in every leaf and output, a power of
  /// two: 16 bytes of the widest, where rows and addresses allow it.
  unsigned piece = 1;
  unsigned run = 4;  ///< of a row, as in row_run
};

/// `shared_limit`: bytes that a block may have on the device, `multiprocessors` as in plan_launch.
/// Any program within kLimits has a plan where `shared_limit` is at least kLeastSharedLimit; throws
/// Error for others with too many values or too much code.
[[nodiscard]] InterpreterPlan plan_interpretation(const compute::Program& program,
                                                  const Bytecode& bytecode,
                                                  const compute::Binding& binding,
                                                  int multiprocessors, std::size_t shared_limit);

/// Bytes of shared memory that a leaf's part of a tile takes.
[[nodiscard]] constexpr std::size_t staged_bytes(TileShape tile, DType type) noexcept {
  return std::size_t{tile.inner} * tile.across * size_of(type);
}

}  // namespace forebay::cuda
