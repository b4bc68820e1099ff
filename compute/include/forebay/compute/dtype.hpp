// Element types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace forebay {

enum class DType : std::uint8_t { f32, i32 };

/// Bytes of one element.
[[nodiscard]] constexpr std::size_t size_of(DType /*type*/) noexcept { return 4; }
[[nodiscard]] constexpr std::string_view to_string(DType type) noexcept {
  return type == DType::f32 ? "f32" : "i32";
}

template <typename T>
inline constexpr bool is_element = false;
template <>
inline constexpr bool is_element<float> = true;
template <>
inline constexpr bool is_element<std::int32_t> = true;
template <typename T>
requires is_element<T>
inline constexpr DType dtype_of = std::is_same_v<T, float> ? DType::f32 : DType::i32;

}  // namespace forebay
