// Sizes as people write them: "64 KiB", "1.5 GiB", "4096".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace forebay {

/// A size as a regular expression (ECMA), for schemas: what `parse_size` accepts, but for overflow
/// and for fractions that leave no whole number of bytes.
inline constexpr std::string_view kSizePattern =
    "^[0-9]+(\\.[0-9]+)? ?(B|KiB|MiB|GiB|TiB)$|^[0-9]+$";

/// Bytes of "1.5 GiB", "64KiB" or "4096"; nothing if the text is no size, is no whole number of
/// bytes, or is more than a std::size_t holds.
[[nodiscard]] std::optional<std::size_t> parse_size(std::string_view text) noexcept;

/// The shortest exact text with a unit of 1024, such as "64 KiB"; bytes below 1 KiB and sizes that
/// no unit divides are written as bytes: "4097 B".
[[nodiscard]] std::string format_size(std::size_t bytes);

/// For reading, rounded to at most four digits: "139.8 GiB".
[[nodiscard]] std::string describe_size(std::size_t bytes);

}  // namespace forebay
