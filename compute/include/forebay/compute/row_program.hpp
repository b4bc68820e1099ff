// Row programs: reductions along rows and what is computed from their results, softmax or a
// normalisation for example. As programs one after the other they read and write their rows several
// times; an executor that keeps rows on the chip does it once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "forebay/compute/program.hpp"

namespace forebay::compute {

/// Where a stage finds a leaf of its program.
struct RowSource {
  enum class Kind : std::uint8_t {
    input,   ///< an element of an input, [rows, length]; the leaf is linear
    column,  ///< an element of an input, [length], for every row; the leaf has strides {0, 1}
    stored,  ///< the element that an earlier stage stored; the leaf is linear
    row,     ///< what an earlier stage reduced its row to; the leaf has strides {1, 0}
  };
  Kind kind = Kind::input;
  std::uint8_t index = 0;  ///< of the input, or of the stage
};

/// A program over [rows, length]. Every stage but the last reduces the rows.
struct RowStage {
  Program program;
  std::vector<RowSource> sources;  ///< of the program's leaves
};

/// Stages in their order. The last one stores the result; an earlier one may store one value, for
/// those behind it. Each stage is a program of its own, and running them one after the other gives
/// the result's bits.
///
/// Invariants: each program has rank 2; reductions are over the second dimension, of values of one
/// size and by rules without an index; no instruction counts by the index.
struct RowProgram {
  std::string name;
  std::vector<RowStage> stages;
};

/// Where the data of one run is. Nothing overlaps the output.
struct RowBinding {
  std::int64_t rows = 0, length = 0;  ///< at least 1
  std::vector<const void*> inputs{};
  std::vector<std::uint64_t> scalars{};  ///< bit patterns, of all stages in their order
  void* output = nullptr;
};

}  // namespace forebay::compute
