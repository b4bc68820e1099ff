// Element types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace forebay {

/// IEEE binary16: 11 significant bits, up to 65504.
struct half {
  std::uint16_t bits = 0;
  half() = default;
  /// To the nearest, ties to even; beyond 65520 infinity.
  explicit half(float value) noexcept;
  explicit operator float() const noexcept;  ///< exact
};

/// The upper half of a binary32: 8 significant bits, the range of float.
struct bfloat16 {
  std::uint16_t bits = 0;
  bfloat16() = default;
  explicit bfloat16(float value) noexcept;   ///< to the nearest, ties to even
  explicit operator float() const noexcept;  ///< exact
};

/// Element types: X(name, C++ type, bytes). A boolean is a byte that is 0 or 1.
#define FOREBAY_DTYPES(X)       \
  X(f64, double, 8)             \
  X(f32, float, 4)              \
  X(f16, forebay::half, 2)      \
  X(bf16, forebay::bfloat16, 2) \
  X(i64, std::int64_t, 8)       \
  X(i32, std::int32_t, 4)       \
  X(u8, std::uint8_t, 1)        \
  X(boolean, bool, 1)

enum class DType : std::uint8_t {
#define FOREBAY_DTYPE(name, type, bytes) name,
  FOREBAY_DTYPES(FOREBAY_DTYPE)
#undef FOREBAY_DTYPE
};

/// Bytes of one element.
[[nodiscard]] constexpr std::size_t size_of(DType type) noexcept {
  constexpr std::size_t kBytes[] = {
#define FOREBAY_DTYPE(name, type, bytes) bytes,
      FOREBAY_DTYPES(FOREBAY_DTYPE)
#undef FOREBAY_DTYPE
  };
  return kBytes[static_cast<std::size_t>(type)];
}
/// "f32", "bf16", "bool" …
[[nodiscard]] std::string_view to_string(DType type) noexcept;

/// What promotion goes by: boolean < integer < real.
enum class Category : std::uint8_t { boolean, integer, real };
[[nodiscard]] constexpr Category category_of(DType type) noexcept {
  if (type == DType::boolean) return Category::boolean;
  return type == DType::i64 || type == DType::i32 || type == DType::u8 ? Category::integer
                                                                       : Category::real;
}
/// The smallest type that holds both by PyTorch's table: the one of the higher category, the wider
/// one within a category; f16 with bf16 gives f32.
[[nodiscard]] DType promote(DType a, DType b) noexcept;

template <typename T>
inline constexpr bool is_element = false;
/// The DType of a C++ element type.
template <typename T>
struct DTypeOf;
#define FOREBAY_DTYPE(name, type, bytes)         \
  template <>                                    \
  inline constexpr bool is_element<type> = true; \
  template <>                                    \
  struct DTypeOf<type> {                         \
    static constexpr DType value = DType::name;  \
    static_assert(sizeof(type) == bytes);        \
  };
FOREBAY_DTYPES(FOREBAY_DTYPE)
#undef FOREBAY_DTYPE
template <typename T>
requires is_element<T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

}  // namespace forebay
