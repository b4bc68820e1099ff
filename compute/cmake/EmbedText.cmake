# cmake -DINPUT=… -DOUTPUT=… -P EmbedText.cmake: the prelude's text as a string of the library.
file(READ ${INPUT} text)
file(WRITE ${OUTPUT}
"#include \"compute/prelude_text.hpp\"

namespace forebay::compute {
std::string_view prelude_text() noexcept {
  static constexpr char text[] = R\"__prelude(${text})__prelude\";
  return {text, sizeof text - 1};
}
}  // namespace forebay::compute
")
