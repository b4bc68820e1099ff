// The text of the prelude, for compilers that run when the program runs.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace forebay::compute {

/// The files that compute/prelude.inl includes, in its order, then blocks.inl and tiles.inl of
/// compute/cuda.
[[nodiscard]] std::span<const std::string_view> prelude_parts() noexcept;
/// All of them, one after the other.
[[nodiscard]] std::string_view prelude_text();
/// The parts that `source` needs: those that define what it names, and what they name in turn. A
/// compiler reads them faster than all. Operations on f16 and bf16 are named by their forms
/// (compute/prelude/narrow_forms.inl), which stand in `source`.
[[nodiscard]] std::string prelude_for(std::string_view source);

}  // namespace forebay::compute
