#include "tests/compute/cuda/program_case.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "forebay/pool/error.hpp"
#include "tests/compute/reference.hpp"

namespace forebay::test {

using compute::Access;
using compute::Identity;
using compute::Instruction;
using compute::ReduceOp;
using compute::ReduceRule;

namespace {

constexpr std::byte kBlank{0xAB};
/// Bytes behind every buffer, which nobody may write.
constexpr std::size_t kGuard = 32;

// `tame`: reals near 1, whose product stays a number.
std::uint64_t random_bits(std::mt19937& random, DType type, bool specials, bool tame = false) {
  const int small = static_cast<int>(random() % 9) - 4;
  const bool special = specials && random() % 4 == 0;
  switch (category_of(type)) {
    case Category::boolean:
      return random() % 2;
    case Category::integer: {
      std::uint64_t wild = std::uint64_t{random()} << 32 | random();
      // Now and then the least number there is, which has no negative.
      if (wild % 4 == 0) wild = type == DType::i32 ? 0x80000000U : std::uint64_t{1} << 63;
      return cast_bits(special ? wild : static_cast<std::uint64_t>(std::int64_t{small}), DType::i64,
                       type);
    }
    case Category::real:
      break;
  }
  if (tame) {
    return cast_bits(bits_of(1.0 + static_cast<double>(small) / 64.0), DType::f64, type);
  }
  using Limits = std::numeric_limits<float>;
  static constexpr std::array<float, 14> kSpecials = {Limits::quiet_NaN(),
                                                      Limits::infinity(),
                                                      -Limits::infinity(),
                                                      0.0F,
                                                      -0.0F,
                                                      Limits::denorm_min(),
                                                      -1e-40F,
                                                      Limits::max(),
                                                      3e9F,
                                                      -2147483648.0F,
                                                      65504.0F,
                                                      65520.0F,
                                                      6e-8F,
                                                      -5.5e-5F};
  const float value = special
                          ? kSpecials[random() % kSpecials.size()]
                          : static_cast<float>(static_cast<int>(random() % 4001) - 2000) / 256.0F;
  return cast_bits(bits_of(value), DType::f32, type);
}

// An element of a leaf in memory, where a true boolean may be any byte but 0.
std::uint64_t in_memory(std::mt19937& random, DType type, std::uint64_t bits) {
  constexpr std::array<std::uint64_t, 4> kTrue = {1, 2, 128, 255};
  return type == DType::boolean && bits != 0 ? kTrue[random() % kTrue.size()] : bits;
}

std::uint64_t read(const std::byte* at, DType type) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, size_of(type));
  return bits;
}

}  // namespace

ProgramCase::ProgramCase(compute::Program program, Dims extents, const CaseOptions& options)
    : program_(std::move(program)), misaligned_(options.misaligned) {
  std::mt19937 random(options.seed);
  binding_.extents = extents;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    count_ *= extents[d];
    const bool reduced = program_.reduction && (program_.reduced_dims >> d & 1) != 0;
    (reduced ? reduced_ : kept_) *= extents[d];
  }
  make_leaves(random, options);
  for (const DType type : program_.scalars) {
    binding_.scalars.push_back(random_bits(random, type, options.specials));
  }
  compute();
}

void ProgramCase::make_leaves(std::mt19937& random, const CaseOptions& options) {
  const bool tame = program_.reduction && program_.reduction->op == ReduceOp::prod;
  for (const compute::Leaf& leaf : program_.leaves) {
    std::int64_t span = leaf.access == Access::linear ? count_ : 1;
    std::int64_t first = 0;  // element at which backward dimensions start
    Dims strides;
    if (leaf.access == Access::strided) {
      // A random order of dimensions, some of them broadcast, some backward.
      std::vector<std::size_t> order(binding_.extents.size());
      for (std::size_t d = 0; d < order.size(); ++d) {
        order[d] = d;
        strides.push_back(0);
      }
      std::shuffle(order.begin(), order.end(), random);
      for (const std::size_t d : order) {
        if (random() % 3 == 0) continue;
        const std::int64_t extent = std::max<std::int64_t>(binding_.extents[d], 1);
        const bool backward = random() % 3 == 0;
        strides[d] = backward ? -span : span;
        if (backward) first += (extent - 1) * span;
        span *= extent;
      }
    }
    const std::size_t size = size_of(leaf.type);
    CaseBuffer buffer{std::vector<std::byte>((static_cast<std::size_t>(span) + misaligned_) * size),
                      misaligned_ * size};
    for (std::size_t at = 0; at < buffer.bytes.size(); at += size) {
      const std::uint64_t bits =
          in_memory(random, leaf.type, random_bits(random, leaf.type, options.specials, tame));
      std::memcpy(buffer.bytes.data() + at, &bits, size);
    }
    buffer.offset += static_cast<std::size_t>(first) * size;
    leaves_.push_back(std::move(buffer));
    binding_.strides.push_back(strides);
  }
}

void ProgramCase::compute() {
  const auto count = static_cast<std::size_t>(count_);
  outputs_.assign(program_.outputs.size(), std::vector<std::uint64_t>(count));
  if (program_.reduction) {
    const ReduceRule rule =
        rule_of(program_.reduction->op, program_.type_of(program_.reduction->value));
    const auto kept = static_cast<std::size_t>(kept_);
    sums_.assign(kept, rule.identity == Identity::one ? 1.0L : 0.0L);
    magnitudes_.assign(kept, 0.0);
    exact_.assign(kept, identity_bits(rule.identity, rule.total));
    best_.assign(kept, std::numeric_limits<std::int64_t>::max());
  }
  const std::size_t rank = binding_.extents.size();
  const std::size_t inputs = program_.leaves.size() + program_.scalars.size();
  std::vector<std::uint64_t> values(inputs + program_.code.size());
  std::array<std::int64_t, kMaxRank> coordinates{};
  for (std::int64_t i = 0; i < count_; ++i) {
    std::int64_t rest = i;
    std::int64_t row = 0;
    std::int64_t within = 0;
    for (std::size_t d = rank; d-- > 0; rest /= binding_.extents[d]) {
      coordinates[d] = rest % binding_.extents[d];
    }
    for (std::size_t d = 0; d < rank; ++d) {
      const bool reduced = program_.reduction && (program_.reduced_dims >> d & 1) != 0;
      std::int64_t& index = reduced ? within : row;
      index = index * binding_.extents[d] + coordinates[d];
    }
    for (std::size_t k = 0; k < program_.leaves.size(); ++k) {
      std::int64_t at = program_.leaves[k].access == Access::linear ? i : 0;
      for (std::size_t d = 0; d < binding_.strides[k].size(); ++d) {
        at += coordinates[d] * binding_.strides[k][d];
      }
      const DType type = program_.leaves[k].type;
      values[k] = read(leaves_[k].bytes.data() + leaves_[k].offset +
                           static_cast<std::size_t>(at) * size_of(type),
                       type);
      if (type == DType::boolean) values[k] = values[k] != 0 ? 1 : 0;
    }
    for (std::size_t k = 0; k < program_.scalars.size(); ++k) {
      values[program_.leaves.size() + k] = binding_.scalars[k];
    }
    for (std::size_t k = 0; k < program_.code.size(); ++k) {
      values[inputs + k] =
          evaluate(program_, program_.code[k], values, static_cast<std::uint64_t>(i));
    }
    for (std::size_t k = 0; k < outputs_.size(); ++k) {
      outputs_[k][static_cast<std::size_t>(i)] = values[program_.outputs[k].value];
    }
    if (program_.reduction) {
      reduce(static_cast<std::size_t>(row), values[program_.reduction->value], within);
    }
  }
}

void ProgramCase::reduce(std::size_t row, std::uint64_t value, std::int64_t index) {
  const DType type = program_.type_of(program_.reduction->value);
  const ReduceRule rule = rule_of(program_.reduction->op, type);
  const std::uint64_t total = cast_bits(value, type, rule.total);
  if (rule.indexed) {
    // A later element has to be better; only the first NaN is.
    const std::uint64_t old = exact_[row];
    const bool first = best_[row] == std::numeric_limits<std::int64_t>::max();
    const std::uint64_t joined = evaluate(rule.join, rule.total, old, total);
    const bool better = !same_bits(rule.total, joined, old) && !equal_bits(rule.total, joined, old);
    if (first || better) {
      exact_[row] = total;
      best_[row] = index;
    }
    return;
  }
  if (rule.identity == Identity::highest || rule.identity == Identity::lowest ||
      rule.total == DType::i64) {
    exact_[row] = evaluate(rule.join, rule.total, exact_[row], total);
    return;
  }
  const double number = real_of(total, rule.total);
  if (rule.identity == Identity::one) {
    sums_[row] *= static_cast<long double>(number);
    magnitudes_[row] += std::abs(std::log2(std::abs(number)));
  } else {
    sums_[row] += static_cast<long double>(number);
    magnitudes_[row] += std::abs(number);
  }
}

DType ProgramCase::reduced_type() const {
  return rule_of(program_.reduction->op, program_.type_of(program_.reduction->value)).result;
}

CaseBuffer ProgramCase::blank(std::int64_t count, DType type) const {
  const std::size_t size = size_of(type);
  return {std::vector<std::byte>((static_cast<std::size_t>(count) + misaligned_) * size + kGuard,
                                 kBlank),
          misaligned_ * size};
}

CaseBuffer ProgramCase::output_buffer(std::size_t k) const {
  return blank(count_, program_.type_of(program_.outputs[k].value));
}
CaseBuffer ProgramCase::reduction_buffer() const {
  return program_.reduction ? blank(kept_, reduced_type()) : CaseBuffer{};
}

namespace {

std::string check_guard(const CaseBuffer& got, std::size_t bytes) {
  for (std::size_t i = 0; i < got.bytes.size(); ++i) {
    if (i >= got.offset && i < got.offset + bytes) continue;
    if (got.bytes[i] != kBlank) return "written outside, at byte " + std::to_string(i);
  }
  return {};
}

}  // namespace

std::string ProgramCase::check_output(std::size_t k, const CaseBuffer& got) const {
  const DType type = program_.type_of(program_.outputs[k].value);
  const std::size_t size = size_of(type);
  for (std::size_t i = 0; i < outputs_[k].size(); ++i) {
    const std::uint64_t bits = read(got.bytes.data() + got.offset + i * size, type);
    if (same_bits(type, bits, outputs_[k][i])) continue;
    return "output " + std::to_string(k) + " at " + std::to_string(i) + " of " +
           std::to_string(count_) + " is " + show(type, bits) + ", not " +
           show(type, outputs_[k][i]);
  }
  return check_guard(got, outputs_[k].size() * size);
}

bool ProgramCase::same(const std::vector<CaseBuffer>& a, const std::vector<CaseBuffer>& b) const {
  const std::size_t outputs = program_.outputs.size();
  if (a.size() != b.size() || a.size() != outputs + (program_.reduction ? 1 : 0)) return false;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const DType type = k < outputs ? program_.type_of(program_.outputs[k].value) : reduced_type();
    const std::int64_t elements = k < outputs ? count_ : kept_;
    const std::size_t size = size_of(type);
    if (a[k].bytes.size() != b[k].bytes.size() || a[k].offset != b[k].offset) return false;
    for (std::size_t i = 0; i < static_cast<std::size_t>(elements); ++i) {
      const std::size_t at = a[k].offset + i * size;
      if (!same_bits(type, read(&a[k].bytes[at], type), read(&b[k].bytes[at], type))) return false;
    }
  }
  return true;
}

std::string ProgramCase::check_reduction(const CaseBuffer& got) const {
  const DType type = program_.type_of(program_.reduction->value);
  const ReduceRule rule = rule_of(program_.reduction->op, type);
  const std::size_t size = size_of(rule.result);
  const bool real_sum = rule.total == DType::f64 &&
                        (rule.identity == Identity::zero || rule.identity == Identity::one);
  for (std::size_t i = 0; i < exact_.size(); ++i) {
    const std::uint64_t bits = read(got.bytes.data() + got.offset + i * size, rule.result);
    const auto fail = [&](const std::string& want) {
      return "row " + std::to_string(i) + " of " + std::to_string(kept_) + " x " +
             std::to_string(reduced_) + " is " + show(rule.result, bits) + ", not " + want;
    };
    if (!real_sum) {
      const std::uint64_t want = rule.indexed ? static_cast<std::uint64_t>(best_[i])
                                              : cast_bits(exact_[i], rule.total, rule.result);
      if (!same_bits(rule.result, bits, want)) return fail(show(rule.result, want));
      continue;
    }
    const double share = rule.divides ? static_cast<double>(reduced_) : 1.0;
    const auto want = static_cast<double>(sums_[i] / static_cast<long double>(share));
    // f32 terms: three levels of f32 additions within a thread, f64 above. One rounding at the end.
    double bound = unit_of(rule.result) * std::abs(want) + tiny_of(rule.result);
    if (rule.identity == Identity::one) {
      // Whether a product leaves the range of f64 on the way depends on the order.
      if (!(magnitudes_[i] < 1000)) continue;
      bound += static_cast<double>(reduced_) * 2.3e-16 * std::abs(want);
    } else {
      bound += (rule.term == DType::f32 ? 4 * 5.97e-8 : 1e-14) * magnitudes_[i] / share;
    }
    // What rounds to infinity in the narrow type is infinite there.
    const std::uint64_t nearest = cast_bits(bits_of(want), DType::f64, rule.result);
    const double real = real_of(bits, rule.result);
    const bool fine = same_bits(rule.result, bits, nearest) || std::abs(real - want) <= bound;
    if (!fine) return fail(std::to_string(want));
  }
  return check_guard(got, exact_.size() * size);
}

ProgramCase random_case(const compute::Program& program, unsigned seed) {
  static constexpr std::int64_t kLengths[] = {1, 2, 3, 4, 7, 16, 31, 64, 129, 500};
  std::mt19937 random(seed);
  Dims extents;
  std::int64_t count = 1;
  for (unsigned d = 0; d < program.rank; ++d) {
    std::int64_t extent = kLengths[random() % std::size(kLengths)];
    while (count * extent > 1000 && extent > 1) extent = (extent + 1) / 2;
    extents.push_back(extent);
    count *= extent;
  }
  // Sums of specials are no test of sums.
  bool bears = true;
  if (program.reduction) {
    const DType type = program.type_of(program.reduction->value);
    const compute::ReduceRule rule = rule_of(program.reduction->op, type);
    bears = rule.total != DType::f64 || rule.identity == compute::Identity::highest ||
            rule.identity == compute::Identity::lowest;
  }
  return ProgramCase(program, extents,
                     {.seed = seed, .specials = bears && seed % 2 == 0, .misaligned = seed % 3});
}

}  // namespace forebay::test
