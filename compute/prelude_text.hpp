// The text of compute/prelude.inl, for compilers that run when the program runs.
#pragma once

#include <string_view>

namespace forebay::compute {

[[nodiscard]] std::string_view prelude_text() noexcept;

}  // namespace forebay::compute
