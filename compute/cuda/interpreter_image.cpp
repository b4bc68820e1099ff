#include "compute/cuda/interpreter_image.hpp"

#include "compute/embed.hpp"

#ifdef FOREBAY_INTERPRETER_WORDS
FOREBAY_EMBED(forebay_interpreter_words, FOREBAY_INTERPRETER_WORDS);
FOREBAY_EMBED(forebay_interpreter_typed, FOREBAY_INTERPRETER_TYPED);
extern "C" const std::byte forebay_interpreter_words[], forebay_interpreter_words_end[];
extern "C" const std::byte forebay_interpreter_typed[], forebay_interpreter_typed_end[];
#endif

namespace forebay::cuda {

InterpreterImage interpreter_image() noexcept {
#ifdef FOREBAY_INTERPRETER_WORDS
  return {{forebay_interpreter_words, forebay_interpreter_words_end},
          {forebay_interpreter_typed, forebay_interpreter_typed_end}};
#else
  return {};
#endif
}

}  // namespace forebay::cuda
