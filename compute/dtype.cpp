#include "forebay/compute/dtype.hpp"

#include "compute/prelude/types.inl"

namespace forebay {

half::half(float value) noexcept : bits(fb_round_f16(value).bits) {}
half::operator float() const noexcept { return fb_to_f32(FbHalf{bits}); }
bfloat16::bfloat16(float value) noexcept : bits(fb_round_bf16(value).bits) {}
bfloat16::operator float() const noexcept { return fb_to_f32(FbBfloat{bits}); }

std::string_view to_string(DType type) noexcept {
  static constexpr std::string_view kNames[] = {
#define FOREBAY_DTYPE(name, type, bytes) #name,
      FOREBAY_DTYPES(FOREBAY_DTYPE)
#undef FOREBAY_DTYPE
  };
  return type == DType::boolean ? "bool" : kNames[static_cast<std::size_t>(type)];
}

DType promote(DType a, DType b) noexcept {
  if (a == b) return a;
  if (category_of(a) != category_of(b)) return category_of(a) > category_of(b) ? a : b;
  if (size_of(a) == size_of(b)) return DType::f32;  // f16 and bf16
  return size_of(a) > size_of(b) ? a : b;
}

}  // namespace forebay
