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
  std::int64_t first = 0;              ///< the first element of each leaf in its array
  std::vector<std::uint64_t> scalars;  ///< bit patterns
  std::int64_t elements = 0;           ///< of the iteration space
  std::uint64_t bytes = 0;             ///< read and written by the best implementation
  /// The same in one plain loop (plain_loops.hpp), where C++ has the type.
  void (*loop)(const ComputeCase& one, const std::vector<const void*>& leaves, void* out) = nullptr;
};

/// Over arrays of about `elements` f32 elements, or as many bytes of another type: copy, add
/// ("add" in f32, "add_f64" and so on in every other type), STREAM's triad, chains of 1, 3, 10 and
/// 40 operations with scalars, rows of a wider array in every type, an array read backwards, one
/// transposed (in a type of each size) and one with inner dimensions exchanged, a broadcast row, a
/// scalar product, and sums over all, rows and columns. REQUIRES: elements >= 8192.
[[nodiscard]] std::vector<ComputeCase> compute_cases(std::int64_t elements);

/// The one of them that is called `name`; REQUIRES: there is one.
[[nodiscard]] ComputeCase compute_case(const std::string& name, std::int64_t elements);

/// f32 elements that the largest leaf of the cases takes, and those of a row.
[[nodiscard]] std::int64_t leaf_elements(std::int64_t elements);
inline constexpr std::int64_t kCaseRow = 4096;

}  // namespace forebay::tools
