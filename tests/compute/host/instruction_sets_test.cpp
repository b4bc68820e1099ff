#include "compute/host/instruction_sets.hpp"

#include <hwy/targets.h>

#include <set>

#include "compute/host/reducers.hpp"
#include "compute/host/streaming.hpp"
#include "tests/compute/host/loops_check.hpp"

using namespace forebay;
using namespace forebay::compute;
using namespace forebay::testing;

namespace {

constexpr DType kLoopTypes[] = {DType::f64, DType::f32, DType::i64,
                                DType::i32, DType::u8,  DType::boolean};

// Highway chooses among one set alone, until the end of a scope.
class OnlySet {
 public:
  explicit OnlySet(std::int64_t target) { use(target); }
  ~OnlySet() { use(0); }
  OnlySet(const OnlySet&) = delete;
  OnlySet& operator=(const OnlySet&) = delete;

 private:
  static void use(std::int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

std::vector<std::span<const host::Loop>> all_loops() {
  return {host::loops_f64(), host::loops_f32(),     host::loops_i64(), host::loops_i32(),
          host::loops_u8(),  host::loops_boolean(), host::loops_cast()};
}

// Calls `check` with each set that this machine has but the first one, which is what every
// processor of its kind has. Returns how many there are.
template <typename Check>
std::size_t for_other_sets(Check&& check) {
  std::vector<std::int64_t> sets = hwy::SupportedAndGeneratedTargets();
  sets.erase(std::remove(sets.begin(), sets.end(), std::int64_t{HWY_STATIC_TARGET}), sets.end());
  for (const std::int64_t set : sets) {
    INFO(hwy::TargetName(set));
    check(set);
  }
  return sets.size();
}

// A loop from memory to memory, over every pattern of 16 bits or values of every kind.
std::vector<std::byte> converted(host::Kernel kernel, DType from, DType to) {
  constexpr std::size_t kCount = 65536;
  std::vector<std::uint64_t> values;
  if (size_of(from) == 2) {
    for (std::uint64_t bits = 0; bits < kCount; ++bits) values.push_back(bits);
  } else {
    values = values_of(from, kCount);
  }
  std::vector<std::byte> out(kCount * size_of(to));
  kernel(memory_of(from, values).data(), nullptr, nullptr, out.data(), kCount, 0);
  return out;
}

void require_same(DType type, const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size() / size_of(type); ++i) {
    REQUIRE(test::same_bits(type, element_of(type, a, i), element_of(type, b, i)));
  }
}

// What is left of rows of many lengths, of columns, and of their parts joined.
std::vector<std::byte> reduced(const host::Reducer& reducer, DType type) {
  constexpr std::size_t kMost = 1024;
  auto values = values_of(type, kMost);
  // Finite, so that the order of the additions shows.
  for (std::uint64_t& bits : values) {
    const double value = test::real_of(bits, type);
    if (!(value > -1e6 && value < 1e6))
      bits = test::cast_bits(test::bits_of(0.1), DType::f64, type);
  }
  std::shuffle(values.begin(), values.end(), std::mt19937(5));
  const auto memory = memory_of(type, values);
  std::vector<std::byte> all;
  std::vector<std::byte> states(kMost * reducer.state_bytes);
  const auto keep = [&](std::size_t n) {
    if (reducer.indices != nullptr) reducer.indices(states.data(), n);
    const std::size_t bytes = n * (reducer.indices != nullptr ? 8 : reducer.state_bytes);
    all.insert(all.end(), states.begin(), states.begin() + static_cast<std::ptrdiff_t>(bytes));
  };
  for (const std::size_t n : {1U, 15U, 16U, 63U, 64U, 65U, 255U, 256U, 500U, 1023U, 1024U}) {
    reducer.start(states.data(), 1);
    reducer.row(states.data(), memory.data(), n, 3);
    reducer.row(states.data(), memory.data(), n / 2, 3 + n);
    keep(1);
    std::vector<std::byte> other(n * reducer.state_bytes);
    reducer.start(states.data(), n);
    reducer.start(other.data(), n);
    const void* const first = memory.data();
    const void* const last = memory.data() + (kMost - n) * size_of(type);
    const void* const rows[host::kRowsTogether] = {last, first, last, last};
    reducer.columns(states.data(), &first, 1, n, 0);
    reducer.columns(other.data(), rows, host::kRowsTogether, n, 1);
    reducer.join(states.data(), other.data(), n);
    keep(n);
  }
  return all;
}

}  // namespace

TEST_CASE("the loops of every instruction set give the same bits") {
  const std::size_t sets = for_other_sets([&](std::int64_t set) {
    const auto lists = all_loops();
    for (std::size_t list = 0; list < lists.size(); ++list) {
      for (std::size_t k = 0; k < lists[list].size(); ++k) {
        const OnlySet other_set(set);
        const host::Loop& other = all_loops()[list][k];
        const OnlySet first_set(HWY_STATIC_TARGET);
        const host::Loop& first = all_loops()[list][k];
        REQUIRE(&other != &first);  // or there is nothing to compare
        REQUIRE(other.kernel != first.kernel);
        REQUIRE(other.op == first.op);
        REQUIRE(other.a == first.a);
        REQUIRE(other.result == first.result);
        INFO(to_string(first.op) << " of " << to_string(first.a) << " to "
                                 << to_string(first.result));
        for (const Form form : forms_of(first)) {
          for (const std::size_t n : {1U, 15U, 100U, 1024U}) {
            require_same(first.result, LoopRun(other, form, n, 1U << 20).out,
                         LoopRun(first, form, n, 1U << 20).out);
          }
        }
      }
    }
  });
#if defined(__x86_64__)
  CHECK(sets <= 2);
  if (__builtin_cpu_supports("avx2")) CHECK(sets >= 1);
#endif
}

TEST_CASE("pairs of every instruction set give the same bits") {
  for_other_sets([&](std::int64_t set) {
    for (std::size_t k = 0; k < host::loops_pairs().size(); ++k) {
      const DType type = host::loops_pairs()[k].type;
      for (int form = 0; form < 4; ++form) {
        const auto all = [&](std::int64_t target) {
          const OnlySet only(target);
          const auto a = memory_of(type, values_of(type, 1000));
          std::vector<std::byte> out(a.size());
          // The operands are the same numbers from other places on.
          host::loops_pairs()[k].kernels[form / 2][form % 2](
              a.data(), a.data() + 40 * size_of(type), a.data() + 77 * size_of(type), out.data(),
              900, 0);
          return out;
        };
        require_same(type, all(HWY_STATIC_TARGET), all(set));
      }
    }
  });
}

TEST_CASE("conversions of every instruction set give the same bits") {
  for_other_sets([&](std::int64_t set) {
    for (const DType narrow : {DType::f16, DType::bf16}) {
      const auto all = [&](std::int64_t target) {
        const OnlySet only(target);
        return std::vector{converted(host::widening_kernel(narrow), narrow, DType::f32),
                           converted(host::narrowing_kernel(narrow), DType::f32, narrow),
                           converted(host::rounding_kernel(narrow), DType::f32, DType::f32)};
      };
      const auto first = all(HWY_STATIC_TARGET);
      const auto other = all(set);
      require_same(DType::f32, first[0], other[0]);
      require_same(narrow, first[1], other[1]);
      require_same(DType::f32, first[2], other[2]);
    }
    for (const DType type : kLoopTypes) {
      const auto odd = [&](std::int64_t target) {
        const OnlySet only(target);
        return converted(host::odd_kernel(type), type, DType::f32);
      };
      INFO(to_string(type));
      require_same(DType::f32, odd(HWY_STATIC_TARGET), odd(set));
    }
  });
}

TEST_CASE("reductions of every instruction set add in the same order") {
  for_other_sets([&](std::int64_t set) {
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max,
                              ReduceOp::argmin, ReduceOp::argmax}) {
      for (const DType type : kLoopTypes) {
        INFO(to_string(op) << " of " << to_string(type));
        const auto all = [&](std::int64_t target) {
          const OnlySet only(target);
          return reduced(host::reducer_of(op, type), type);
        };
        const bool indexed = op == ReduceOp::argmin || op == ReduceOp::argmax;
        require_same(indexed ? DType::i64 : rule_of(op, type).total, all(HWY_STATIC_TARGET),
                     all(set));
      }
    }
  });
}
