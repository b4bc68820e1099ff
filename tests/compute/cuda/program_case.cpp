#include "tests/compute/cuda/program_case.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "compute/prelude.inl"

namespace forebay::test {

using compute::Access;
using compute::Instruction;
using compute::Op;

namespace {

constexpr std::uint32_t kBlank = 0xDEADBEEFU;
/// Words behind every buffer, which nobody may write.
constexpr std::size_t kGuard = 8;

Word random_word(std::mt19937& random, DType type, bool specials) {
  Word word{};
  if (type == DType::i32) {
    word.whole = specials && random() % 8 == 0 ? static_cast<std::int32_t>(random())
                                               : static_cast<std::int32_t>(random() % 9) - 4;
    return word;
  }
  using Limits = std::numeric_limits<float>;
  static constexpr std::array<float, 10> kSpecials = {Limits::quiet_NaN(),
                                                      Limits::infinity(),
                                                      -Limits::infinity(),
                                                      0.0F,
                                                      -0.0F,
                                                      Limits::denorm_min(),
                                                      -1e-40F,
                                                      Limits::max(),
                                                      3e9F,
                                                      -2147483648.0F};
  word.real = specials && random() % 4 == 0
                  ? kSpecials[random() % kSpecials.size()]
                  : static_cast<float>(static_cast<int>(random() % 4001) - 2000) / 256.0F;
  return word;
}

Word apply(const Instruction& instruction, DType operands, const Word* v, std::uint64_t index) {
  const Word a = v[instruction.a];
  const Word b = v[instruction.b];
  const Word c = v[instruction.c];
  const bool real = operands == DType::f32;
  Word result{};
  switch (instruction.op) {
#define FOREBAY_UNARY(op)              \
  case Op::op:                         \
    if (real)                          \
      result.real = fb_##op(a.real);   \
    else                               \
      result.whole = fb_##op(a.whole); \
    break
#define FOREBAY_BINARY(op)                      \
  case Op::op:                                  \
    if (real)                                   \
      result.real = fb_##op(a.real, b.real);    \
    else                                        \
      result.whole = fb_##op(a.whole, b.whole); \
    break
    FOREBAY_UNARY(neg);
    FOREBAY_UNARY(relu);
    FOREBAY_BINARY(add);
    FOREBAY_BINARY(sub);
    FOREBAY_BINARY(mul);
    FOREBAY_BINARY(min);
    FOREBAY_BINARY(max);
    FOREBAY_BINARY(greater);
    FOREBAY_BINARY(equal);
#undef FOREBAY_UNARY
#undef FOREBAY_BINARY
    case Op::exp:
      result.real = fb_exp(a.real);
      break;
    case Op::log:
      result.real = fb_log(a.real);
      break;
    case Op::sqrt:
      result.real = fb_sqrt(a.real);
      break;
    case Op::div:
      result.real = fb_div(a.real, b.real);
      break;
    case Op::to_f32:
      result.real = real ? fb_to_f32(a.real) : fb_to_f32(a.whole);
      break;
    case Op::to_i32:
      result.whole = real ? fb_to_i32(a.real) : fb_to_i32(a.whole);
      break;
    case Op::select:
      result = (real ? a.real != 0.0F : a.whole != 0) ? b : c;
      break;
    case Op::random_uniform:
      result.real = fb_random_uniform(a.whole, b.whole, index);
      break;
    case Op::random_normal:
      result.real = fb_random_normal(a.whole, b.whole, index);
      break;
  }
  return result;
}

bool same(DType type, Word a, Word b) {
  return a.bits == b.bits || (type == DType::f32 && std::isnan(a.real) && std::isnan(b.real));
}

std::string show(DType type, Word word) {
  return type == DType::f32 ? std::to_string(word.real) : std::to_string(word.whole);
}

}  // namespace

ProgramCase::ProgramCase(compute::Program program, Dims extents, const CaseOptions& options)
    : program_(std::move(program)), offset_(options.misaligned) {
  std::mt19937 random(options.seed);
  binding_.extents = extents;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    count_ *= extents[d];
    const bool reduced = program_.reduction && (program_.reduced_dims >> d & 1) != 0;
    (reduced ? reduced_ : kept_) *= extents[d];
  }
  make_leaves(random, options);
  for (const DType type : program_.scalars) {
    binding_.scalars.push_back(random_word(random, type, false).bits);
  }
  compute();
}

void ProgramCase::make_leaves(std::mt19937& random, const CaseOptions& options) {
  for (const compute::Leaf& leaf : program_.leaves) {
    std::int64_t span = leaf.access == Access::linear ? count_ : 1;
    Dims strides;
    if (leaf.access == Access::strided) {
      // A random order of dimensions, some of them broadcast.
      std::vector<std::size_t> order(binding_.extents.size());
      for (std::size_t d = 0; d < order.size(); ++d) {
        order[d] = d;
        strides.push_back(0);
      }
      std::shuffle(order.begin(), order.end(), random);
      for (const std::size_t d : order) {
        if (random() % 3 == 0) continue;
        strides[d] = span;
        span *= std::max<std::int64_t>(binding_.extents[d], 1);
      }
    }
    CaseBuffer buffer{std::vector<Word>(static_cast<std::size_t>(span) + offset_), offset_};
    for (Word& word : buffer.words) word = random_word(random, leaf.type, options.specials);
    leaves_.push_back(std::move(buffer));
    binding_.strides.push_back(strides);
  }
}

void ProgramCase::compute() {
  outputs_.assign(program_.outputs.size(), std::vector<Word>(static_cast<std::size_t>(count_)));
  sums_.assign(static_cast<std::size_t>(kept_), 0.0);
  magnitudes_ = sums_;
  whole_sums_.assign(static_cast<std::size_t>(kept_), 0);
  const std::size_t rank = binding_.extents.size();
  const std::size_t inputs = program_.leaves.size() + program_.scalars.size();
  std::vector<Word> values(inputs + program_.code.size());
  std::array<std::int64_t, kMaxRank> coordinates{};
  for (std::int64_t i = 0; i < count_; ++i) {
    std::int64_t rest = i;
    std::int64_t row = 0;
    for (std::size_t d = rank; d-- > 0; rest /= binding_.extents[d]) {
      coordinates[d] = rest % binding_.extents[d];
    }
    for (std::size_t d = 0; d < rank; ++d) {
      if (program_.reduction && (program_.reduced_dims >> d & 1) != 0) continue;
      row = row * binding_.extents[d] + coordinates[d];
    }
    for (std::size_t k = 0; k < program_.leaves.size(); ++k) {
      std::int64_t at = program_.leaves[k].access == Access::linear ? i : 0;
      for (std::size_t d = 0; d < binding_.strides[k].size(); ++d) {
        at += coordinates[d] * binding_.strides[k][d];
      }
      values[k] = leaves_[k].words[leaves_[k].offset + static_cast<std::size_t>(at)];
    }
    for (std::size_t k = 0; k < program_.scalars.size(); ++k) {
      values[program_.leaves.size() + k].bits = binding_.scalars[k];
    }
    for (std::size_t k = 0; k < program_.code.size(); ++k) {
      const Instruction& instruction = program_.code[k];
      values[inputs + k] = apply(instruction, program_.type_of(instruction.a), values.data(),
                                 static_cast<std::uint64_t>(i));
    }
    for (std::size_t k = 0; k < outputs_.size(); ++k) {
      outputs_[k][static_cast<std::size_t>(i)] = values[program_.outputs[k].value];
    }
    if (!program_.reduction) continue;
    const Word value = values[program_.reduction->value];
    const auto to = static_cast<std::size_t>(row);
    if (program_.type_of(program_.reduction->value) == DType::f32) {
      sums_[to] += static_cast<double>(value.real);
      magnitudes_[to] += std::abs(static_cast<double>(value.real));
    } else {
      whole_sums_[to] += value.bits;
    }
  }
}

CaseBuffer ProgramCase::blank(std::int64_t count) const {
  return {std::vector<Word>(static_cast<std::size_t>(count) + offset_ + kGuard, Word{kBlank}),
          offset_};
}

CaseBuffer ProgramCase::output_buffer() const { return blank(count_); }
CaseBuffer ProgramCase::reduction_buffer() const { return blank(kept_); }

namespace {

std::string check_guard(const CaseBuffer& got, std::size_t count) {
  for (std::size_t i = 0; i < got.words.size(); ++i) {
    if (i >= got.offset && i < got.offset + count) continue;
    if (got.words[i].bits != kBlank) return "written outside, at word " + std::to_string(i);
  }
  return {};
}

}  // namespace

std::string ProgramCase::check_output(std::size_t k, const CaseBuffer& got) const {
  const DType type = program_.type_of(program_.outputs[k].value);
  for (std::size_t i = 0; i < outputs_[k].size(); ++i) {
    const Word word = got.words[got.offset + i];
    if (same(type, word, outputs_[k][i])) continue;
    return "output " + std::to_string(k) + " at " + std::to_string(i) + " of " +
           std::to_string(count_) + " is " + show(type, word) + ", not " +
           show(type, outputs_[k][i]);
  }
  return check_guard(got, outputs_[k].size());
}

std::string ProgramCase::check_reduction(const CaseBuffer& got) const {
  const DType type = program_.type_of(program_.reduction->value);
  const bool mean = program_.reduction->op == compute::ReduceOp::mean;
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    const Word word = got.words[got.offset + i];
    const auto fail = [&](const std::string& want) {
      return "row " + std::to_string(i) + " of " + std::to_string(kept_) + " x " +
             std::to_string(reduced_) + " is " + show(type, word) + ", not " + want;
    };
    if (type == DType::i32) {
      if (word.bits != whole_sums_[i]) return fail(std::to_string(whole_sums_[i]));
      continue;
    }
    const double share = mean ? static_cast<double>(reduced_) : 1.0;
    const double want = sums_[i] / share;
    // Three levels of f32 additions within a thread, f64 above, one rounding at the end.
    const double bound = 4 * 5.97e-8 * magnitudes_[i] / share + 1e-37;
    const double real = static_cast<double>(word.real);
    if (std::isfinite(want) ? !(std::abs(real - want) <= bound)
                            : !(real == want || (std::isnan(real) && std::isnan(want)))) {
      return fail(std::to_string(want));
    }
  }
  return check_guard(got, sums_.size());
}

}  // namespace forebay::test
