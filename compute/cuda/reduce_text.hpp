// The parts of a reduction as code.
#pragma once

#include <string>
#include <string_view>

#include "compute/cuda/text.hpp"
#include "forebay/compute/op.hpp"

namespace forebay::cuda {

/// What every generated kernel starts with, after the prelude.
extern const std::string_view kHelpers;

/// What nothing reduces to, as an expression.
[[nodiscard]] std::string identity_text(compute::Identity identity, DType type);
/// The cast of `value` to a type.
[[nodiscard]] std::string cast_text(DType type, const std::string& value);
/// The prelude's function that joins two parts.
[[nodiscard]] std::string join_text(const compute::ReduceRule& rule);
/// The terms t[0] to t[kStepElements - 1] of a step, joined by a tree.
[[nodiscard]] std::string tree_text(const std::string& join);
/// Term, Sum and what is done with them, with `suffix` behind each name.
void declare_reduction(Text& text, const compute::ReduceRule& rule, const std::string& suffix);

}  // namespace forebay::cuda
