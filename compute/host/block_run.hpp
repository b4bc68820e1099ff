// A program's run over its data, block by block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compute/host/block_program.hpp"
#include "forebay/compute/program.hpp"

namespace forebay::compute::host {

/// How an output gets to its memory: computed there; copied there from where it is computed; or the
/// same past the caches.
enum class Way : std::uint8_t { computed, copied, streamed };

/// One thread's view of one run. Only one may exist on a thread at a time.
/// Cost of a block beside its loops: a few ns for each leaf, output and step.
class BlockRun {
 public:
  BlockRun(const Program& program, const BlockProgram& compiled, const Binding& binding);
  ~BlockRun();
  BlockRun(const BlockRun&) = delete;
  BlockRun& operator=(const BlockRun&) = delete;

  /// Computes elements [index, index + n) of the iteration space and stores the outputs: each by
  /// the loop that computes it where it can be. REQUIRES: 0 < n <= most().
  void block(std::uint64_t index, std::size_t n);
  /// kBlock; any number where one loop goes from memory to memory, with nothing in a buffer.
  [[nodiscard]] std::size_t most() const noexcept { return most_; }
  /// Where the last block left a value, of its block_type.
  [[nodiscard]] const void* value(Value v) const noexcept { return values_[v]; }
  /// Whether value() of `v` stays as it is while further blocks run, as long as each is given
  /// memory of its own by `put`.
  [[nodiscard]] bool stays(Value v) const noexcept;
  /// From the next block on `v` is computed at `memory`, which has room for it, unless it is no
  /// result of an instruction or is computed where an output lies.
  void put(Value v, void* memory) noexcept;

 private:
  void read_leaf(std::size_t leaf, std::uint64_t index, std::size_t n);
  template <typename Word>
  [[nodiscard]] const std::byte* gather(std::size_t leaf, std::byte* target, std::uint64_t index,
                                        std::size_t n);
  void fill(std::size_t value, const void* element, std::size_t n);
  [[nodiscard]] bool needs_buffers() const noexcept;
  [[nodiscard]] Way way_of(std::size_t output, std::uint64_t elements) const noexcept;
  void store(std::size_t output, std::uint64_t index, std::size_t n);
  [[nodiscard]] std::byte* buffer_of(std::size_t value) const noexcept {
    return buffers_ + compiled_.place[value];
  }

  const Program& program_;
  const BlockProgram& compiled_;
  const Binding& binding_;
  std::byte* buffers_;
  std::byte* gathered_;              // a block of a leaf as it lies in memory
  std::vector<std::byte*>& values_;  // where each value of the block lies
  std::vector<Way>& ways_;           // by output
  bool streams_ = false;
  std::size_t most_ = kBlock;
};

}  // namespace forebay::compute::host
