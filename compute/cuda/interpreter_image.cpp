#include "compute/cuda/interpreter_image.hpp"

#ifdef FOREBAY_INTERPRETER_IMAGE
// The assembler copies the file's bytes into the section of constants.
asm(".pushsection .rodata\n"
    ".balign 64\n"
    ".hidden forebay_interpreter_image\n"
    ".globl forebay_interpreter_image\n"
    "forebay_interpreter_image:\n"
    ".incbin \"" FOREBAY_INTERPRETER_IMAGE
    "\"\n"
    ".hidden forebay_interpreter_image_end\n"
    ".globl forebay_interpreter_image_end\n"
    "forebay_interpreter_image_end:\n"
    ".popsection\n");
extern "C" const std::byte forebay_interpreter_image[];
extern "C" const std::byte forebay_interpreter_image_end[];
#endif

namespace forebay::cuda {

std::span<const std::byte> interpreter_image() noexcept {
#ifdef FOREBAY_INTERPRETER_IMAGE
  return {forebay_interpreter_image, forebay_interpreter_image_end};
#else
  return {};
#endif
}

}  // namespace forebay::cuda
