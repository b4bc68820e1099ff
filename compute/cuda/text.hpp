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

/// The type of values in registers.
[[nodiscard]] constexpr std::string_view type_name(DType type) noexcept {
  constexpr std::string_view kNames[] = {"double",    "float", "FbHalf",        "FbBfloat",
                                         "long long", "int",   "unsigned char", "bool"};
  return kNames[static_cast<std::size_t>(type)];
}
/// The type of elements in memory: what is not 0 there is a true boolean.
[[nodiscard]] constexpr std::string_view memory_name(DType type) noexcept {
  return type == DType::boolean ? type_name(DType::u8) : type_name(type);
}

}  // namespace forebay::cuda
