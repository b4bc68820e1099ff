// Small arithmetic on sizes and addresses.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace forebay::pool {

inline constexpr std::size_t kKiB = std::size_t{1} << 10;
inline constexpr std::size_t kMiB = std::size_t{1} << 20;

/// REQUIRES: `unit` is a power of two.
constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) noexcept {
  return (value + unit - 1) & ~(unit - 1);
}
constexpr std::uint64_t round_down(std::uint64_t value, std::uint64_t unit) noexcept {
  return value & ~(unit - 1);
}
/// The same for any unit.
constexpr std::uint64_t round_up_to_multiple(std::uint64_t value, std::uint64_t unit) noexcept {
  return (value + unit - 1) / unit * unit;
}
constexpr bool is_power_of_two(std::uint64_t value) noexcept {
  return value != 0 && (value & (value - 1)) == 0;
}
/// REQUIRES: value > 0.
constexpr unsigned log2_floor(std::uint64_t value) noexcept {
  return static_cast<unsigned>(std::bit_width(value)) - 1;
}

}  // namespace forebay::pool
