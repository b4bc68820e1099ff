// Putting together lines of generated code.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>

#include "forebay/compute/dtype.hpp"

namespace forebay::cuda {

/// A text that grows line by line.
class Text {
 public:
  template <typename... Parts>
  Text& line(const Parts&... parts) {
    (append(parts), ...);
    text_ += '\n';
    return *this;
  }
  Text& block(std::string_view text) {
    text_ += text;
    return *this;
  }
  [[nodiscard]] std::string str() && { return std::move(text_); }

 private:
  void append(std::string_view part) { text_ += part; }
  void append(std::integral auto number) { text_ += std::to_string(number); }

  std::string text_;
};

[[nodiscard]] constexpr std::string_view type_name(DType type) noexcept {
  return type == DType::f32 ? "float" : "int";
}
/// In what sums are kept: f64 for f32, and i32 modulo 2^32.
[[nodiscard]] constexpr std::string_view sum_type(DType type) noexcept {
  return type == DType::f32 ? "double" : "unsigned";
}

}  // namespace forebay::cuda
