#include "compute/host/reduction.hpp"

#include "compute/convert.hpp"
#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::compute;
using namespace forebay::testing;

namespace {

// Sums of 0, 1, 2 … over the reduced dimensions of `extents`, as the host makes them.
std::vector<float> sums(const Dims& extents, std::uint8_t reduced, host::Threads& threads,
                        ReduceOp op = ReduceOp::sum, DType type = DType::f32) {
  Program program;
  program.leaves = {{type, Access::linear}};
  program.rank = static_cast<std::uint8_t>(extents.size());
  program.reduced_dims = reduced;
  program.reduction = Reduction{op, 0};
  std::int64_t results = 1;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (((reduced >> d) & 1) == 0) results *= extents[d];
  }
  std::vector<std::uint32_t> data;
  for (std::int64_t i = 0; i < checked_numel(extents); ++i) {
    data.push_back(type == DType::f32 ? std::bit_cast<std::uint32_t>(static_cast<float>(i))
                                      : static_cast<std::uint32_t>(i));
  }
  const DType made = rule_of(op, type).result;
  std::vector<std::byte> out(static_cast<std::size_t>(results) * size_of(made), std::byte{0xee});
  const Binding binding{
      .extents = extents, .leaves = {data.data()}, .strides = {Dims()}, .reduction = out.data()};
  host::reduce(program, host::BlockProgram(program), binding, threads);
  std::vector<float> values(static_cast<std::size_t>(results));
  convert(out.data(), made, values.data(), DType::f32, values.size());
  return values;
}

std::vector<float> expected(const Dims& extents, std::uint8_t reduced) {
  std::vector<double> result;
  Dims strides = extents;
  std::int64_t stride = 1;
  for (std::size_t d = extents.size(); d-- > 0;) {
    const bool r = ((reduced >> d) & 1) != 0;
    strides[d] = r ? 0 : stride;
    if (!r) stride *= extents[d];
  }
  result.assign(static_cast<std::size_t>(stride), 0.0);
  for (std::int64_t i = 0; i < checked_numel(extents); ++i) {
    std::int64_t rest = i;
    std::int64_t at = 0;
    for (std::size_t d = extents.size(); d-- > 0;) {
      at += rest % extents[d] * strides[d];
      rest /= extents[d];
    }
    result[static_cast<std::size_t>(at)] += static_cast<double>(i);
  }
  return {result.begin(), result.end()};
}

}  // namespace

TEST_CASE("every way in which tiles cut an iteration space") {
  host::Threads one(1);
  host::Threads three(3);
  const std::vector<Dims> spaces{{5},          {1024},       {1025},          {70'000},
                                 {3, 5},       {3, 1024},    {3, 1025},       {1025, 3},
                                 {70'000, 2},  {2, 70'000},  {200, 1},        {5, 200, 3},
                                 {4, 3, 2000}, {2000, 3, 4}, {3, 2, 3, 2, 5}, {130, 2, 130}};
  for (const Dims& extents : spaces) {
    for (unsigned reduced = 1; reduced < 1U << extents.size(); ++reduced) {
      INFO(to_string(extents) << " reduced " << reduced);
      const auto mask = static_cast<std::uint8_t>(reduced);
      const auto result = sums(extents, mask, one);
      const auto wanted = expected(extents, mask);
      REQUIRE(result.size() == wanted.size());
      for (std::size_t i = 0; i < result.size(); ++i) {
        REQUIRE(result[i] == Approx(wanted[i]).epsilon(1e-6));
      }
      REQUIRE(sums(extents, mask, three) == result);
    }
  }
}

TEST_CASE("columns of values that are computed, stored or gathered join as those in memory do") {
  host::Threads threads(2);
  for (const std::int64_t columns : {40, 600, 1024, 3000}) {
    const Dims extents{71, columns};
    const auto size = static_cast<std::size_t>(71 * columns);
    std::vector<float> data(size);
    for (std::size_t i = 0; i < size; ++i) data[i] = 1.0F / static_cast<float>(i + 1);
    const auto sum_of = [&](Access access, bool computed, bool stored) {
      Program program;
      program.leaves = {{DType::f32, access}};
      program.rank = 2;
      program.reduced_dims = 0b01;
      if (computed) program.code = {{.op = Op::abs, .type = DType::f32, .a = 0}};
      const Value value = computed ? 1 : 0;
      program.reduction = Reduction{ReduceOp::sum, value};
      if (stored) program.outputs = {{value}};
      std::vector<float> out(static_cast<std::size_t>(columns));
      std::vector<float> output(size);
      const Binding binding{
          .extents = extents,
          .leaves = {data.data()},
          .strides = {access == Access::strided ? Dims{columns, 1} : Dims()},
          .outputs = stored ? std::vector<void*>{output.data()} : std::vector<void*>{},
          .reduction = out.data()};
      host::reduce(program, host::BlockProgram(program), binding, threads);
      if (stored) CHECK(output == data);
      return out;
    };
    const auto plain = sum_of(Access::linear, false, false);
    for (const Access access : {Access::linear, Access::strided}) {
      for (const bool computed : {false, true}) {
        for (const bool stored : {false, true}) {
          INFO(columns << " columns, " << computed << stored << (access == Access::strided));
          CHECK(sum_of(access, computed, stored) == plain);
        }
      }
    }
  }
}

TEST_CASE("more than 2^29 ones sum exactly on the host, as a whole, in rows and in columns") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr std::int64_t kCount = (std::int64_t{1} << 25) + 64;  // still more than f32 counts to
#else
  constexpr std::int64_t kCount = (std::int64_t{1} << 29) + 64;  // which f32 holds
#endif
  const Host host;
  // One element, read again and again: no memory, and the additions of any other leaf.
  const Tensor one = full({1, 1}, 1.0F, host.device).eval();
  const auto sum = [&](const Dims& shape, const std::vector<int>& axes) {
    return one.broadcast_to(shape).sum(axes).to_host<float>();
  };
  CHECK(sum({1, kCount}, {}) == std::vector<float>{static_cast<float>(kCount)});
  CHECK(sum({2, kCount / 2}, {1}) == std::vector<float>(2, static_cast<float>(kCount / 2)));
  CHECK(sum({kCount / 2, 2}, {0}) == std::vector<float>(2, static_cast<float>(kCount / 2)));
}

TEST_CASE("a sum of more elements than there is memory for their parts says so") {
  const Host host;
  const Tensor one = full({}, 1.0F, host.device);
  CHECK(contains(
      message_of<OutOfMemory>([&] { one.broadcast_to({std::int64_t{1} << 60}).sum().eval(); }),
      "bytes for the parts of a reduction"));
  CHECK(one.item<float>() == 1);
}

TEST_CASE("a reduction of no dimension copies") {
  host::Threads threads(2);
  const auto result = sums({70'000}, 0, threads);
  CHECK(result == expected({70'000}, 0));
  CHECK(sums({1}, 0, threads, ReduceOp::mean) == std::vector<float>{0});
}

TEST_CASE("means divide at the end, sums of integers are i64") {
  host::Threads threads(2);
  CHECK(sums({3, 4}, 0b10, threads, ReduceOp::mean) == std::vector<float>{1.5F, 5.5F, 9.5F});
  CHECK(sums({3, 4}, 0b11, threads, ReduceOp::mean) == std::vector<float>{5.5F});
  CHECK(sums({100'000}, 1, threads, ReduceOp::sum, DType::i32)[0] ==
        static_cast<float>(100'000ULL * 99'999 / 2));
  CHECK(sums({50'000, 2}, 0b01, threads, ReduceOp::sum, DType::i32)[0] ==
        static_cast<float>(50'000ULL * 49'999));
}
