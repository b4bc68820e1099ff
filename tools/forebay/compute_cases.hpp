// What `forebay bench compute` runs: programs over arrays of one size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "forebay/compute/program.hpp"

namespace forebay::tools {

/// A program with the shape of its data; every leaf is an array of its own.
struct ComputeCase {
  std::string name;
  compute::Program program;
  Dims extents;
  std::vector<Dims> strides;           ///< of the leaves, as in Binding
  std::vector<std::uint64_t> scalars;  ///< bit patterns
  std::int64_t elements = 0;           ///< of the iteration space
  std::uint64_t bytes = 0;             ///< read and written by the best implementation
};

/// Over about `elements` f32 elements: copy, add, chains of 1, 3, 10 and 40 operations with
/// scalars, rows of a wider array, a broadcast row, and sums over all, rows and columns. REQUIRES:
/// elements >= 8192.
[[nodiscard]] std::vector<ComputeCase> compute_cases(std::int64_t elements);

/// The same bytes as `elements` of f32, in every other type, with 1 added: "add_f64" and so on.
[[nodiscard]] std::vector<ComputeCase> typed_cases(std::int64_t elements);

/// Elements that the largest leaf of the cases takes.
[[nodiscard]] std::int64_t leaf_elements(std::int64_t elements);

/// The case over one thread's plain loop; arrays as in a Binding. Nothing is fused or vectorised by
/// hand: it is what a programmer writes first.
void run_plain_loop(const ComputeCase& one, const std::vector<const float*>& leaves, float* out);

}  // namespace forebay::tools
