#include "compute/host/block_run.hpp"

#include <numeric>

#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::compute;
using namespace forebay::testing;

namespace {

Instruction instruction(Op op, Value a, Value b = 0) {
  return {.op = op, .type = DType::f32, .a = a, .b = b};
}

std::vector<float> counted(std::size_t n, float first = 0) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), first);
  return values;
}

}  // namespace

TEST_CASE("a value that is used twice by one instruction frees one buffer") {
  Program program;  // ((-x) * (-x)) used together with two later values
  program.leaves.resize(1);
  program.code = {instruction(Op::neg, 0), instruction(Op::mul, 1, 1), instruction(Op::neg, 0),
                  instruction(Op::neg, 3), instruction(Op::add, 2, 3), instruction(Op::add, 5, 4)};
  program.outputs = {{6}};
  const host::BlockProgram compiled(program);
  const auto x = counted(10, 1);
  std::vector<float> out(10);
  Binding binding{
      .extents = {10}, .leaves = {x.data()}, .strides = {Dims()}, .outputs = {out.data()}};
  host::BlockRun run(program, compiled, binding);
  run.block(0, 10);
  for (std::size_t i = 0; i < 10; ++i) CHECK(out[i] == x[i] * x[i] - x[i] + x[i]);
}

TEST_CASE("blocks store outputs at their place and nowhere else") {
  Program program;
  program.leaves.resize(1);
  program.scalars = {DType::f32};
  program.code = {instruction(Op::add, 0, 1), instruction(Op::mul, 2, 2)};
  program.outputs = {{3}, {2}, {0}, {1}};  // results, a leaf, a scalar
  const host::BlockProgram compiled(program);
  const auto x = counted(100);
  std::vector<std::vector<float>> out(4, std::vector<float>(100, -1.0F));
  Binding binding{.extents = {100},
                  .leaves = {x.data()},
                  .strides = {Dims()},
                  .scalars = {std::bit_cast<std::uint32_t>(1.0F)},
                  .outputs = {out[0].data(), out[1].data(), out[2].data(), out[3].data()}};
  host::BlockRun run(program, compiled, binding);
  run.block(10, 20);
  for (std::size_t i = 0; i < 100; ++i) {
    const bool inside = i >= 10 && i < 30;
    CHECK(out[0][i] == (inside ? (x[i] + 1) * (x[i] + 1) : -1));
    CHECK(out[1][i] == (inside ? x[i] + 1 : -1));
    CHECK(out[2][i] == (inside ? x[i] : -1));
    CHECK(out[3][i] == (inside ? 1 : -1));
  }
}

TEST_CASE("a scalar takes a block only where a loop cannot take one element") {
  Program program;
  program.leaves = {{DType::f32, Access::linear}, {DType::f32, Access::single}};
  program.scalars = {DType::f32, DType::f32};
  // 2 - (x * leaf + 1), then its square with a scalar on both sides: 1 + 2.
  program.code = {instruction(Op::mul, 0, 1), instruction(Op::add, 4, 2),
                  instruction(Op::sub, 3, 5), instruction(Op::add, 2, 3),
                  instruction(Op::mul, 6, 7)};
  program.outputs = {{8}};
  const host::BlockProgram compiled(program);
  CHECK(compiled.whole ==
        std::vector<bool>{true, false, true, false, true, true, true, true, true});
  const auto x = counted(100);
  const float single = 3;
  std::vector<float> out(100);
  Binding binding{
      .extents = {100},
      .leaves = {x.data(), &single},
      .strides = {Dims(), Dims()},
      .scalars = {std::bit_cast<std::uint32_t>(1.0F), std::bit_cast<std::uint32_t>(2.0F)},
      .outputs = {out.data()}};
  host::BlockRun run(program, compiled, binding);
  run.block(0, 100);
  for (std::size_t i = 0; i < 100; ++i) CHECK(out[i] == (2 - (x[i] * 3 + 1)) * 3);

  // Operations of three operands, and what is stored, need blocks.
  Program clamp;
  clamp.leaves.resize(1);
  clamp.scalars = {DType::f32, DType::f32, DType::f32};
  clamp.code = {{.op = Op::clamp, .type = DType::f32, .a = 0, .b = 1, .c = 2}};
  clamp.outputs = {{4}, {3}};
  CHECK(host::BlockProgram(clamp).whole == std::vector<bool>(5, true));
}

TEST_CASE("chains of pairs compute what each operation does") {
  // ((x - y) * s + x) - s, then s * (that) - y, then its square: pairs in several forms.
  Program program;
  program.leaves.resize(2);
  program.scalars = {DType::f32};
  program.code = {instruction(Op::sub, 0, 1), instruction(Op::mul, 3, 2),
                  instruction(Op::add, 0, 4), instruction(Op::sub, 5, 2),
                  instruction(Op::mul, 2, 6), instruction(Op::sub, 7, 1),
                  instruction(Op::mul, 8, 8)};
  program.outputs = {{9}};
  const host::BlockProgram compiled(program);
  CHECK(compiled.steps.size() == 4);
  auto x = counted(300);
  const auto y = counted(300, -77);
  for (const bool in_place : {false, true}) {
    const auto before = x;
    std::vector<float> out(300);
    Binding binding{.extents = {300},
                    .leaves = {x.data(), y.data()},
                    .strides = {Dims(), Dims()},
                    .scalars = {std::bit_cast<std::uint32_t>(1.1F)},
                    .outputs = {in_place ? x.data() : out.data()}};
    host::BlockRun run(program, compiled, binding);
    run.block(0, 300);
    for (std::size_t i = 0; i < 300; ++i) {
      const float scaled = (before[i] - y[i]) * 1.1F;
      const float shifted = before[i] + scaled;
      const float again = 1.1F * (shifted - 1.1F);
      const float last = again - y[i];
      CHECK((in_place ? x : out)[i] == last * last);
    }
  }
}

TEST_CASE("large outputs are stored past the caches, by the same blocks") {
  Program program;
  program.leaves = {{DType::f32, Access::linear}, {DType::f16, Access::linear}};
  program.scalars = {DType::f32};
  program.code = {instruction(Op::add, 0, 2),
                  instruction(Op::mul, 3, 3),
                  {.op = Op::neg, .type = DType::f16, .a = 1}};
  program.outputs = {{0}, {4}, {3}, {2}, {5}};
  const host::BlockProgram compiled(program);
  auto x = counted(2000);
  std::vector<std::uint16_t> half(2000);
  std::iota(half.begin(), half.end(), std::uint16_t{0});
  // The space is larger than the memory, of which two blocks are used.
  constexpr std::int64_t kElements = std::int64_t{1} << 30;
  for (const bool over_leaf : {false, true}) {
    std::vector<std::vector<float>> out(4, std::vector<float>(2000, -1.0F));
    std::vector<std::uint16_t> negated(2000, 0xFFFF);
    const auto before = x;
    Binding binding{.extents = {kElements},
                    .leaves = {x.data(), half.data()},
                    .strides = {Dims(), Dims()},
                    .scalars = {std::bit_cast<std::uint32_t>(1.0F)},
                    .outputs = {out[2].data(), over_leaf ? x.data() : out[0].data(), out[1].data(),
                                out[3].data(), negated.data()}};
    {
      host::BlockRun run(program, compiled, binding);
      run.block(3, 1000);
      run.block(1003, 517);
    }
    const std::vector<float>& squares = over_leaf ? x : out[0];
    for (std::size_t i = 0; i < 2000; ++i) {
      const bool inside = i >= 3 && i < 1520;
      const float other = over_leaf ? before[i] : -1;
      CHECK(squares[i] == (inside ? (before[i] + 1) * (before[i] + 1) : other));
      CHECK(out[1][i] == (inside ? before[i] + 1 : -1));
      CHECK(out[2][i] == (inside ? before[i] : -1));
      CHECK(out[3][i] == (inside ? 1 : -1));
      CHECK(negated[i] == (inside ? i | 0x8000 : 0xFFFF));
    }
    x = before;
  }
}

TEST_CASE("an output over a leaf is written when the leaf was read") {
  Program program;
  program.leaves.resize(1);
  program.code = {instruction(Op::neg, 0), instruction(Op::mul, 0, 0)};
  program.outputs = {{1}, {2}};
  const host::BlockProgram compiled(program);
  auto x = counted(50, 1);
  std::vector<float> squares(50);
  Binding binding{.extents = {50},
                  .leaves = {x.data()},
                  .strides = {Dims()},
                  .outputs = {x.data(), squares.data()}};
  host::BlockRun run(program, compiled, binding);
  run.block(0, 50);
  for (std::size_t i = 0; i < 50; ++i) {
    const auto v = static_cast<float>(i + 1);
    CHECK(x[i] == -v);
    CHECK(squares[i] == v * v);
  }
}

TEST_CASE("strided leaves are read from any place of the space") {
  Program program;
  program.leaves = {{DType::f32, Access::strided}};
  program.rank = 3;
  program.outputs = {{0}};
  const host::BlockProgram compiled(program);
  const Dims extents{5, 6, 7};
  const auto x = counted(2000);
  for (const Dims& strides : {Dims{42, 7, 1}, Dims{1, 5, 30}, Dims{0, 7, 1}, Dims{7, 0, 1},
                              Dims{6, 1, 0}, Dims{100, 10, 2}, Dims{0, 0, 3}}) {
    std::vector<float> out(210);
    Binding binding{
        .extents = extents, .leaves = {x.data()}, .strides = {strides}, .outputs = {out.data()}};
    host::BlockRun run(program, compiled, binding);
    for (std::size_t first = 0; first < 210; first += 13) {
      for (const std::size_t n : {1U, 5U, 13U}) {
        if (first + n > 210) continue;
        std::fill(out.begin(), out.end(), -1.0F);
        run.block(first, n);
        for (std::size_t i = 0; i < 210; ++i) {
          const std::int64_t at = static_cast<std::int64_t>(i) / 42 * strides[0] +
                                  static_cast<std::int64_t>(i) / 7 % 6 * strides[1] +
                                  static_cast<std::int64_t>(i) % 7 * strides[2];
          const bool inside = i >= first && i < first + n;
          REQUIRE(out[i] == (inside ? static_cast<float>(at) : -1.0F));
        }
      }
    }
  }
}

TEST_CASE("what one loop does from memory to memory is not cut into blocks") {
  constexpr std::size_t kMany = 5000;
  const auto x = counted(kMany);
  const float single = 2;
  std::vector<float> out(kMany);
  const auto most = [&](const Program& program, const Dims& strides = {}) {
    const host::BlockProgram compiled(program);
    Binding binding{.extents = {kMany},
                    .leaves = {x.data(), &single},
                    .strides = {strides, Dims()},
                    .scalars = {std::bit_cast<std::uint32_t>(3.0F)},
                    .outputs = {out.data()}};
    host::BlockRun run(program, compiled, binding);
    if (run.most() > kMany) run.block(0, kMany);
    return run.most();
  };
  Program program;
  program.leaves = {{DType::f32, Access::linear}, {DType::f32, Access::single}};
  program.scalars = {DType::f32};
  program.code = {instruction(Op::mul, 0, 1), instruction(Op::add, 3, 2)};  // a pair
  program.outputs = {{4}};
  CHECK(most(program) > kMany);
  for (std::size_t i = 0; i < kMany; ++i) REQUIRE(out[i] == x[i] * 2 + 3);

  Program two_loops = program;
  two_loops.code = {instruction(Op::mul, 0, 1), instruction(Op::div, 3, 2)};
  CHECK(most(two_loops) == host::kBlock);
  Program copied = program;
  copied.code = {instruction(Op::neg, 0)};
  copied.outputs = {
      {3},
  };
  CHECK(most(copied) > kMany);
  copied.outputs = {{0}};
  CHECK(most(copied) == host::kBlock);
  Program strided = copied;
  strided.outputs = {{3}};
  strided.leaves[0].access = Access::strided;
  CHECK(most(strided, Dims{0}) == host::kBlock);
  Program stored = program;
  stored.code = {{.op = Op::clamp, .type = DType::f32, .a = 0, .b = 1, .c = 2}};
  stored.outputs = {{3}};
  CHECK(most(stored) == host::kBlock);
}
