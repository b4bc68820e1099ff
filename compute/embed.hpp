// Files inside the library.
#pragma once

/// Defines `name` and `name`_end around the bytes of a file, which the assembler copies into the
/// section of constants. Declare both as extern "C" const std::byte[].
#define FOREBAY_EMBED(name, file)    \
  asm(".pushsection .rodata\n"       \
      ".balign 64\n"                 \
      ".hidden " #name               \
      "\n"                           \
      ".globl " #name "\n" #name     \
      ":\n"                          \
      ".incbin \"" file              \
      "\"\n"                         \
      ".hidden " #name               \
      "_end\n"                       \
      ".globl " #name "_end\n" #name \
      "_end:\n"                      \
      ".popsection\n")
