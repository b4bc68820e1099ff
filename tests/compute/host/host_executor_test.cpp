#include "compute/host/host_executor.hpp"

#include <limits>
#include <numeric>

#include "compute/host/block_program.hpp"
#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::compute;
using namespace forebay::testing;

TEST_CASE("a program is compiled once and runs over many blocks and threads") {
  for (const unsigned count : {1U, 3U}) {
    host::Threads threads(count);
    KernelCounters counters;
    host::HostExecutor executor(threads, counters);
    Program program;
    program.leaves.resize(1);
    program.code = {{.op = Op::add, .type = DType::f32, .a = 0, .b = 0}};
    program.outputs = {{1}};
    const host::BlockProgram* compiled = nullptr;
    for (const std::size_t n : {1U, 1023U, 1024U, 1025U, 200'000U}) {
      std::vector<float> x(n);
      std::iota(x.begin(), x.end(), 0.0F);
      std::vector<float> out(n + 1, -1.0F);
      const Binding binding{.extents = {static_cast<std::int64_t>(n)},
                            .leaves = {x.data()},
                            .strides = {Dims()},
                            .outputs = {out.data()}};
      CHECK(executor.run(program, binding, Stream()) == Readiness::done);
      bool equal = out[n] == -1.0F;
      for (std::size_t i = 0; i < n; ++i) equal = equal && out[i] == 2 * x[i];
      CHECK(equal);
      const auto* const kept = program.prepared.find<host::BlockProgram>(&executor);
      CHECK(kept != nullptr);
      CHECK((compiled == nullptr || compiled == kept));
      compiled = kept;
    }
    CHECK(counters.interpreted_launches.load() == 5);
    CHECK(executor.name() == "host");
  }
}

TEST_CASE("random numbers go by the index in the whole tensor") {
  host::Threads threads(3);
  KernelCounters counters;
  host::HostExecutor executor(threads, counters);
  Program program;
  program.scalars = {DType::i32, DType::i32};
  program.code = {{.op = Op::random_uniform, .type = DType::f32, .a = 0, .b = 1}};
  program.outputs = {{2}};
  const auto draw = [&](std::size_t n) {
    std::vector<float> out(n);
    const Binding binding{
        .extents = {static_cast<std::int64_t>(n)}, .scalars = {5, 6}, .outputs = {out.data()}};
    executor.run(program, binding, Stream());
    return out;
  };
  const auto few = draw(100);
  auto many = draw(150'000);
  CHECK(many[0] != many[1024]);
  CHECK(many[0] != many[65536]);
  many.resize(100);
  CHECK(many == few);
}
