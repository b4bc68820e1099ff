// Graphs on a device: what holds on the host holds here, and the driver does the replaying.
#include <numeric>
#include <vector>

#include "tests/compute/graph_cases.hpp"
#include "tests/compute/graph_program.hpp"
#include "tests/gpu/gpu_compute.hpp"

using namespace forebay;
using namespace forebay::testing;
using forebay::test::GpuCompute;

TEST_CASE("on a GPU a graph computes nothing until it is replayed, then reads what is there") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  check_replay(gpu.device);
}

TEST_CASE("on a GPU what was lazy before a capture stays right") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  check_lazy_before(gpu.device);
  check_by_stream(gpu.device);
}

TEST_CASE("on a GPU numbers that a function leaves are right if memory ran out") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  check_numbers_without_memory(gpu.device);
  check_readers_without_memory(gpu.device);
}

TEST_CASE("on a GPU whatever a tensor was before a capture, replays read and write it") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  check_inputs_of_every_kind(gpu.device);
}

TEST_CASE("on a GPU numbers repeated by broadcast are what replays read and write") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  check_repeated_numbers(gpu.device);
}

TEST_CASE("on a GPU what a function leaves lazy has the latest replay's value") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  check_left_lazy(gpu.device);
}

TEST_CASE("on a GPU equal numbers are stored together") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  check_many_numbers(gpu.device);
}

TEST_CASE("on a GPU the last handle of a graph may go inside of its update") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  check_dropped_by_its_update(gpu.device);
}

TEST_CASE("on a GPU a capture that throws leaves everything as it was") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  check_exception(gpu.device);
}

TEST_CASE("on a GPU what needs a value at once is an error inside of a capture") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  check_refusals(gpu.device);
}

TEST_CASE("on a GPU a graph keeps what it uses alive, and gives it back when it goes") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  check_lifetimes(gpu.device);
}

TEST_CASE("on a GPU replays find their inputs unchanged, and change nobody else's values") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  check_reuse(gpu.device);
}

TEST_CASE("on a GPU an updated graph does the new work, in place if only addresses changed") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  check_update(gpu.device);
  CHECK(gpu.device.counters().graphs.updated == 1);
  CHECK(gpu.device.counters().graphs.rebuilt == 1);
}

TEST_CASE("on a GPU a thousand replays allocate nothing and cost one launch each") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  check_replays_without_growth(gpu.device, 1000);
}

TEST_CASE("on a GPU graphs are dropped in any order") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  check_drop_orders(gpu.device);
}

TEST_CASE("on a GPU a matrix product, views and assignments replay") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  check_other_work(gpu.device);
}

TEST_CASE("on a GPU graphs in random order compute what plain vectors do") {
  FOREBAY_REQUIRE_DEVICE();
  for (unsigned seed = 1; seed <= 5; ++seed) {
    INFO("seed " << seed);
    GpuCompute gpu;
    GraphProgram program(gpu.device, seed, true);
    for (int i = 0; i < 1500; ++i) program.step();
    program.finish();
  }
}

TEST_CASE("on a GPU a capture may be the first thing that a device does") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  Tensor total;
  Tensor product;
  const Tensor a = random_normal({64, 64}, 7, gpu.device);
  // Kernels and plans are made inside.
  const Graph graph = capture(gpu.device, [&] {
    product = matmul(a, a);
    total = (product * product + 1.0F).sum();
  });
  graph.replay();
  const float wanted = (matmul(a, a) * matmul(a, a) + 1.0F).sum().item();
  CHECK(total.item() == wanted);
}

TEST_CASE("on a GPU a split reduction replays right many times") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  const std::int64_t count = std::int64_t{1} << 24;
  const Tensor x = full({count}, 1.0F, gpu.device).eval();
  Tensor total;
  const Graph graph = capture(gpu.device, [&] { total = x.sum(); });
  for (int i = 1; i <= 100; ++i) {
    const auto value = static_cast<float>(i % 8);
    assign(x, full({count}, value, gpu.device));
    graph.replay();
    if (i % 3 == 0) (void)x.sum();  // uses the same scratch memory between replays
    REQUIRE(total.item() == value * static_cast<float>(count));
  }
}

TEST_CASE("on a GPU the memory of a dropped graph is used again") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  const std::int64_t count = std::int64_t{1} << 24;  // 64 MiB
  const Tensor x = full({count}, 1.0F, gpu.device).eval();
  std::uint64_t held = 0;
  for (int i = 0; i < 20; ++i) {
    Tensor out;
    const Graph graph = capture(gpu.device, [&] {
      Tensor next = x;
      for (int step = 0; step < 7; ++step) next = (next + 1.0F).eval();
      out = next;
    });
    graph.replay();
    REQUIRE(out.reshape({count}).sum().item() == 8.0F * static_cast<float>(count));
    if (i == 4) held = gpu.device.pool().stats().held.current;
  }
  CHECK(gpu.device.pool().stats().held.current == held);
  CHECK(gpu.device.pool().validate() == "");
}
