// The kernel of a row program: rows stay in registers from the first stage to the last.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "compute/cuda/reduce_plan.hpp"
#include "forebay/compute/row_program.hpp"

namespace forebay::cuda {

/// Steps of a row, `kStepElements` for each of its threads, that kernels hold at most.
inline constexpr unsigned kMostRowSteps = 8;
inline constexpr const char* kRowEntry = "forebay_rows";

struct RowLaunch {
  unsigned steps = 1;  ///< that the kernel holds: a power of two
  unsigned blocks = 0;
  unsigned threads = 0;
  bool vector = false;  ///< 16-byte accesses are aligned, and rows hold whole runs
  ReducePlan plan;
};

/// Blocks of a launch with that plan by a kernel of `steps` steps.
[[nodiscard]] unsigned blocks_of_rows(const ReducePlan& plan, unsigned steps);

/// The launch for rows of that length and number; none if they are too long, or so few that each is
/// cut up for several blocks: the tree of a row is that of the reductions of the stages.
[[nodiscard]] std::optional<RowLaunch> plan_rows(const compute::RowProgram& program,
                                                 const compute::RowBinding& binding);

/// The whole source, prelude in front, for rows of at most `steps` steps.
[[nodiscard]] std::string generate_row_kernel(const compute::RowProgram& program, unsigned steps);

/// The bytes of the kernel's one parameter.
class RowArguments {
 public:
  RowArguments(const compute::RowProgram& program, const compute::RowBinding& binding,
               const RowLaunch& launch);
  [[nodiscard]] void* data() noexcept { return bytes_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  template <typename T>
  void put(T value);

  alignas(8) std::array<std::byte, 256> bytes_;
  std::size_t size_ = 0;
};

}  // namespace forebay::cuda
