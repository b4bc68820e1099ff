// A program as the host runs it: loops over blocks that fit the first-level cache (block_run.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compute/host/kernels.hpp"
#include "forebay/compute/program.hpp"

namespace forebay::compute::host {

/// Elements of one block: 4 KiB of each f32 value, so that a dozen share a first-level cache.
inline constexpr std::size_t kBlock = 1024;

/// The compiled form, kept with the program: its loops, and memory of one block for each value,
/// which intermediate values share by their lifetimes.
struct BlockProgram {
  struct Step {
    Kernel kernel;
    Value a, b, c, out;
  };
  static constexpr std::uint32_t kNone = 0xffffffff;

  std::vector<Step> steps;
  std::vector<DType> types;  ///< by value
  std::vector<bool> whole;   ///< by value: a block of it is there, not its first element alone
  std::vector<std::uint32_t> place;  ///< by value, bytes; linear leaves are read in place: kNone
  std::uint32_t bytes = 0;

  /// Throws Error for an operation that does not exist for its types.
  explicit BlockProgram(const Program& program);

 private:
  std::uint32_t take(std::size_t size);
  void add_steps(const Program& program, const Instruction& instruction, Value out, bool is_read);
  [[nodiscard]] bool pair_with_last(const Program& program, std::size_t index, Value out);
  [[nodiscard]] Kernel kernel_of(const Program& program, const Instruction& instruction);
};

}  // namespace forebay::compute::host
