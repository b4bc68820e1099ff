// The loops of one type against the prelude, element by element.
#pragma once

#include <cstddef>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "compute/host/kernels.hpp"
#include "tests/compute/reference.hpp"
#include "tests/support/catch.hpp"

namespace forebay::testing {

/// Values of every kind that `type` has: edges first, then what a seed gives.
inline std::vector<std::uint64_t> values_of(DType type, std::size_t count) {
  using test::bits_of;
  std::vector<std::uint64_t> values;
  std::mt19937_64 random(7);
  using F = std::numeric_limits<double>;
  for (const double edge : {0.0,           -0.0,           1.0,           -1.0,
                            0.5,           -2.5,           3.0,           7.0,
                            -7.0,          127.5,          255.0,         65504.0,
                            65520.0,       1e-7,           1e30,          -1e30,
                            1e-40,         -1e-45,         2147483647.0,  -2147483648.0,
                            9.3e18,        -9.3e18,        1e300,         4e-324,
                            F::infinity(), -F::infinity(), F::quiet_NaN()}) {
    values.push_back(test::cast_bits(bits_of(edge), DType::f64, type));
  }
  while (values.size() < count) {
    const bool real = category_of(type) == Category::real;
    const double spread = std::uniform_real_distribution<double>(-20, 20)(random);
    const std::uint64_t from = real ? bits_of(spread) : random() >> (random() % 64);
    values.push_back(test::cast_bits(from, real ? DType::f64 : DType::i64, type));
  }
  values.resize(count);
  return values;
}

/// Elements of `type` in memory.
inline std::vector<std::byte> memory_of(DType type, const std::vector<std::uint64_t>& values) {
  std::vector<std::byte> bytes(values.size() * size_of(type));
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::memcpy(bytes.data() + i * size_of(type), &values[i], size_of(type));
  }
  return bytes;
}
inline std::uint64_t element_of(DType type, const std::vector<std::byte>& bytes, std::size_t i) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + i * size_of(type), size_of(type));
  return bits;
}

/// How the operands of a loop lie.
enum class Form { each, first_once, second_once };

/// One run of `loop` over values of every kind: the memory of the result, and what lies behind it.
struct LoopRun {
  std::vector<std::uint64_t> a, b, c;
  std::vector<std::byte> out;

  LoopRun(const compute::host::Loop& loop, Form form, std::size_t n, std::uint64_t index) {
    const bool choice = compute::kind_of(loop.op) == compute::OpKind::choose;
    const DType second = choice ? loop.result : loop.a;
    a = values_of(loop.a, n);
    b = values_of(second, n);
    std::shuffle(b.begin(), b.end(), std::mt19937(3));
    c = b;
    std::shuffle(c.begin(), c.end(), std::mt19937(4));
    auto memory_a = memory_of(loop.a, a);
    auto memory_b = memory_of(second, b);
    const auto memory_c = memory_of(second, c);
    out.assign((n + 1) * size_of(loop.result), std::byte{0xAB});
    if (n != 0 && form == Form::first_once) {
      std::fill(a.begin(), a.end(), a[n / 2]);
      memory_a = memory_of(loop.a, {a[0]});
    }
    if (n != 0 && form == Form::second_once) {
      std::fill(b.begin(), b.end(), b[n / 2]);
      memory_b = memory_of(second, {b[0]});
    }
    const compute::host::Kernel kernels[] = {loop.kernel, loop.once_first, loop.once_second};
    kernels[static_cast<int>(form)](memory_a.data(), memory_b.data(), memory_c.data(), out.data(),
                                    n, index);
  }
};

inline std::vector<Form> forms_of(const compute::host::Loop& loop) {
  REQUIRE((loop.once_first == nullptr) == (loop.once_second == nullptr));
  if (loop.once_first == nullptr) return {Form::each};
  return {Form::each, Form::first_once, Form::second_once};
}

/// Every loop of `loops`, in every form, at lengths around the width of vectors; nothing is written
/// behind the end. Returns how many loops there were.
inline std::size_t check_loops(std::span<const compute::host::Loop> loops) {
  for (const compute::host::Loop& loop : loops) {
    const bool choice = compute::kind_of(loop.op) == compute::OpKind::choose;
    const DType second = choice ? loop.result : loop.a;
    for (const Form form : forms_of(loop)) {
      for (const std::size_t n :
           {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{333}}) {
        if (n == 0 && form != Form::each) continue;  // there is no one element to read
        const LoopRun run(loop, form, n, 5);
        INFO(to_string(loop.op) << " of " << to_string(loop.a) << " to " << to_string(loop.result)
                                << ", form " << static_cast<int>(form));
        for (std::size_t i = 0; i < n; ++i) {
          const std::uint64_t want =
              choice ? (run.a[i] != 0 ? run.b[i] : run.c[i])
                     : test::evaluate(loop.op, loop.a, run.a[i], run.b[i], run.c[i], 5 + i);
          INFO(test::show(loop.a, run.a[i]) << " and " << test::show(second, run.b[i]));
          REQUIRE(test::same_bits(loop.result, element_of(loop.result, run.out, i), want));
        }
        REQUIRE(element_of(loop.result, run.out, n) ==
                element_of(loop.result, std::vector(size_of(loop.result), std::byte{0xAB}), 0));
      }
    }
  }
  return loops.size();
}

/// One for each operation that the type has, but for casts and random numbers.
inline std::size_t operations_of(DType type) {
  std::size_t count = 0;
  for (int number = 0;; ++number) {
    const auto op = static_cast<compute::Op>(number);
    const auto kind = compute::kind_of(op);
    const bool elsewhere = kind == compute::OpKind::cast || kind == compute::OpKind::draw_32 ||
                           kind == compute::OpKind::draw_64;
    count += !elsewhere && compute::has_type(op, type) ? 1 : 0;
    if (op == compute::kLastOp) return count;
  }
}

}  // namespace forebay::testing
