# cmake -DINPUTS=…;… -DFOLDER=… -DOUTPUT=… -P EmbedText.cmake: the prelude's parts as a string of the
# library, one literal each, since compilers bound the length of one.
set(literals "")
foreach(input ${INPUTS})
  file(READ ${FOLDER}/${input} text)
  string(APPEND literals "      R\"__prelude(${text})__prelude\"\n")
endforeach()
file(WRITE ${OUTPUT}
"#include \"compute/prelude_text.hpp\"

namespace forebay::compute {
std::string_view prelude_text() noexcept {
  static constexpr char text[] =
${literals}      ;
  return {text, sizeof text - 1};
}
}  // namespace forebay::compute
")
