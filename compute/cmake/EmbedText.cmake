# cmake -DINPUTS=…;… -DFOLDER=… -DOUTPUT=… -P EmbedText.cmake: the prelude's parts as strings of the
# library.
set(literals "")
foreach(input ${INPUTS})
  file(READ ${FOLDER}/${input} text)
  string(APPEND literals "      R\"__prelude(${text})__prelude\",\n")
endforeach()
file(WRITE ${OUTPUT}
"#include \"compute/prelude_text.hpp\"

namespace forebay::compute {
std::span<const std::string_view> prelude_parts() noexcept {
  static constexpr std::string_view parts[] = {
${literals}  };
  return parts;
}
}  // namespace forebay::compute
")
