// A program as the host runs it: loops over blocks that fit the first-level cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compute/host/kernels.hpp"
#include "forebay/compute/program.hpp"

namespace forebay::compute::host {

/// Elements of one block: 4 KiB of each value, so that a dozen values share a first-level cache.
inline constexpr std::size_t kBlock = 1024;

/// The compiled form, kept with the program: its loops, and a buffer of one block for each value,
/// which intermediate values share by their lifetimes.
struct BlockProgram {
  struct Step {
    Kernel kernel;
    Value a, b, c, out;
  };
  std::vector<Step> steps;
  std::vector<std::uint16_t> buffer;  ///< by value; linear leaves are read in place and have none
  std::uint16_t buffers = 0;

  /// Throws Error for an operation that does not exist for its types.
  explicit BlockProgram(const Program& program);
};

/// One thread's view of one run. Only one may exist on a thread at a time.
/// Cost of a block beside its loops: a few ns for each leaf, output and step.
class BlockRun {
 public:
  BlockRun(const Program& program, const BlockProgram& compiled, const Binding& binding);

  /// Computes elements [index, index + n) of the iteration space and stores the outputs: each by
  /// the loop that computes it where it can be. REQUIRES: 0 < n <= kBlock.
  void block(std::uint64_t index, std::size_t n);
  /// Where the last block left a value.
  [[nodiscard]] const Word* value(Value v) const noexcept { return values_[v]; }

 private:
  void read_strided(std::size_t leaf, std::uint64_t index, std::size_t n);
  [[nodiscard]] Word* buffer_of(std::size_t value) const noexcept {
    return buffers_ + compiled_.buffer[value] * kBlock;
  }
  [[nodiscard]] bool computed_in_place(std::size_t output) const noexcept;

  const Program& program_;
  const BlockProgram& compiled_;
  const Binding& binding_;
  Word* buffers_;
  std::vector<Word*>& values_;        // where each value of the block lies
  std::vector<Word*>& destinations_;  // of outputs computed in place, else null
};

}  // namespace forebay::compute::host
