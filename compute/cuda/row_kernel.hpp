// The kernel of a row program: rows stay in registers from the first stage to the last.
#pragma once

#include <string>

#include "forebay/compute/row_program.hpp"

namespace forebay::cuda {

inline constexpr const char* kRowEntry = "forebay_rows";

/// The whole source, prelude in front, for rows of at most `steps` steps.
[[nodiscard]] std::string generate_row_kernel(const compute::RowProgram& program, unsigned steps);

}  // namespace forebay::cuda
