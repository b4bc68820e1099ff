// How a row program is launched, and the parameters of its kernel.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "compute/cuda/reduce_plan.hpp"
#include "forebay/compute/row_program.hpp"

namespace forebay::cuda {

/// What a row program reads.
struct RowInput {
  DType type = DType::f32;
  bool column = false;  ///< one row for all rows
};
[[nodiscard]] std::vector<RowInput> row_inputs(const compute::RowProgram& program);
[[nodiscard]] DType row_output(const compute::RowProgram& program);
/// Elements of a row that a thread takes together, by the type that is reduced, as in every kernel.
[[nodiscard]] unsigned row_run(const compute::RowProgram& program);
/// Rows that a thread takes at once: where they are short, one alone would keep too few loads in
/// flight.
[[nodiscard]] unsigned rows_of_thread(unsigned steps);

/// Steps of a row, `kStepElements` for each of its threads, that kernels hold at most.
inline constexpr unsigned kMostRowSteps = 8;

/// The bytes that a row program's parameters may take; the library's take less than half of them.
inline constexpr std::size_t kRowArgumentBytes = 256;

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
/// cut up for several blocks: the tree of a row is that of the reductions of the stages. Nor is
/// there one if the parameters would take too many bytes.
[[nodiscard]] std::optional<RowLaunch> plan_rows(const compute::RowProgram& program,
                                                 const compute::RowBinding& binding);

/// The bytes of the kernel's one parameter. REQUIRES: a launch that plan_rows gave.
class RowArguments {
 public:
  RowArguments(const compute::RowProgram& program, const compute::RowBinding& binding,
               const RowLaunch& launch);
  [[nodiscard]] void* data() noexcept { return bytes_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  template <typename T>
  void put(T value);

  alignas(8) std::array<std::byte, kRowArgumentBytes> bytes_;
  std::size_t size_ = 0;
};

}  // namespace forebay::cuda
