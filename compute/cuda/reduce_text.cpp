#include "compute/cuda/reduce_text.hpp"

#include <array>

#include "compute/cuda/kernel_arguments.hpp"

namespace forebay::cuda {

const std::string_view kHelpers = R"(
FB_FN unsigned fb_divide(unsigned n, unsigned magic, unsigned shift) {
  return (__umulhi(n, magic) + n) >> shift;
}
)";

std::string identity_text(compute::Identity identity, DType type) {
  constexpr std::string_view kHighest[] = {"FB_DOUBLE(0x7ff0000000000000ULL)",
                                           "FB_FLOAT(0x7f800000U)",
                                           "",
                                           "",
                                           "0x7fffffffffffffffLL",
                                           "0x7fffffff",
                                           "255",
                                           "true"};
  constexpr std::string_view kLowest[] = {
      "FB_DOUBLE(0xfff0000000000000ULL)", "FB_FLOAT(0xff800000U)", "",  "",
      "(-0x7fffffffffffffffLL - 1)",      "(-0x7fffffff - 1)",     "0", "false"};
  switch (identity) {
    case compute::Identity::zero:
      return "0";
    case compute::Identity::one:
      return "1";
    case compute::Identity::highest:
      return std::string(kHighest[static_cast<std::size_t>(type)]);
    case compute::Identity::lowest:
      return std::string(kLowest[static_cast<std::size_t>(type)]);
  }
  return {};
}

std::string cast_text(DType type, const std::string& value) {
  return std::string("fb_") + to_string(compute::cast_to(type)) + "(" + value + ")";
}

std::string join_text(const compute::ReduceRule& rule) {
  return std::string(rule.indexed ? "fb_best_" : "fb_") + to_string(rule.join);
}

std::string tree_text(const std::string& join) {
  std::array<std::string, kStepElements> terms;
  for (unsigned n = 0; n < kStepElements; ++n) terms[n] = "t[" + std::to_string(n) + "]";
  for (unsigned n = kStepElements / 2; n > 0; n /= 2) {
    for (unsigned m = 0; m < n; ++m) {
      terms[m] = join + "(" + terms[2 * m] + ", " + terms[2 * m + 1] + ")";
    }
  }
  return terms[0];
}

void declare_reduction(Text& text, const compute::ReduceRule& rule, const std::string& suffix) {
  const std::string join = join_text(rule);
  const std::string total = reduction_total(rule);
  const std::string sum = "Sum" + suffix;
  text.line("typedef ", total, " ", sum, ";");
  text.line("typedef ", rule.indexed ? std::string_view(total) : type_name(rule.term), " Term",
            suffix, ";");
  text.line("FB_FN ", sum, " fb_join", suffix, "(", sum, " a, ", sum, " b) { return ", join,
            "(a, b); }");
}

}  // namespace forebay::cuda
