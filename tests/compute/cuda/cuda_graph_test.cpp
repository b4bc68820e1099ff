// Graphs on the fake driver: its copies compute, its kernels are counted.
#include "compute/cuda/cuda_graph.hpp"

#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "compute/cuda/stream_scratch.hpp"
#include "compute/node.hpp"
#include "forebay/compute/graph.hpp"
#include "forebay/compute/tensor.hpp"
#include "forebay/pool/error.hpp"
#include "tests/compute/cuda/fake_cuda.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::test;

namespace {

using Floats = std::vector<float>;

Tensor on(Device& device, const Floats& values) {
  return from_host<float>(values, {static_cast<std::int64_t>(values.size())}, device);
}

CUstream queue(const FakeCuda& cuda) { return static_cast<CUstream>(cuda.stream.native()); }

bool captures(const FakeCuda& cuda) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  REQUIRE(cuda.device->api().cuStreamIsCapturing(queue(cuda), &status) == CUDA_SUCCESS);
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/// Copies of copies, through temporaries that come and go.
void copy_through(const Tensor& from, const Tensor& to, int temporaries) {
  Tensor last = from;
  for (int i = 0; i < temporaries; ++i) {
    const Tensor next = empty(from.shape(), from.device());
    assign(next, last);
    last = next;
  }
  assign(to, last);
}

}  // namespace

TEST_CASE("a graph on a device is replayed by one launch, and holds nothing but the work") {
  FakeCuda cuda;
  const Tensor x = on(*cuda.device, {1, 2, 3});
  const Tensor y = on(*cuda.device, {0, 0, 0});
  const driver::CudaApi& api = cuda.device->api();
  const std::uint64_t records = api.cuEventRecord.calls();
  const std::uint64_t queries = api.cuEventQuery.calls();
  const Graph graph = capture(*cuda.device, [&] {
    copy_through(x, y, 300);  // as many frees, and points would be due
    CHECK(captures(cuda));
    CHECK(api.cuEventRecord.calls() == records);
    CHECK(api.cuEventQuery.calls() == queries);
  });
  CHECK_FALSE(captures(cuda));
  CHECK(graph.size() == 301);  // no frees, no events
  CHECK(y.to_host<float>() == Floats{0, 0, 0});
  const std::uint64_t calls = cuda.device->driver_calls();
  graph.replay();
  CHECK(cuda.device->driver_calls() == calls + 2);  // with the look at what is current
  CHECK(y.to_host<float>() == Floats{1, 2, 3});
  assign(x, on(*cuda.device, {4, 5, 6}));
  graph.replay();
  CHECK(y.to_host<float>() == Floats{4, 5, 6});
}

TEST_CASE("temporaries of a capture share memory that nobody else gets until the graph goes") {
  FakeCuda cuda;
  constexpr std::int64_t kElements = 1 << 20;
  const Floats ones(kElements, 1.0F);
  const Tensor a = from_host<float>(ones, {kElements}, *cuda.device);
  const Tensor b = empty({kElements}, *cuda.device);
  const std::uint64_t held = cuda.device->pool().stats().held.current;
  std::optional<Graph> graph = capture(*cuda.device, [&] { copy_through(a, b, 50); });
  CHECK(cuda.device->pool().stats().held.current <= held + (24U << 20));
  {
    std::vector<Tensor> others;
    for (int i = 0; i < 20; ++i) {
      others.push_back(empty({kElements}, *cuda.device));
      assign(others.back(), a);
      assign(others.back(), b);
    }
    const Floats twos(kElements, 2.0F);
    assign(a, from_host<float>(twos, {kElements}, *cuda.device));
    graph->replay();
    CHECK(b.to_host<float>() == twos);
    for (const Tensor& other : others) CHECK(other.to_host<float>().back() != 2.0F);
  }
  graph.reset();
  cuda.device->synchronize();
  const std::uint64_t before = cuda.device->pool().stats().held.current;
  for (int i = 0; i < 20; ++i) {
    const Graph another = capture(*cuda.device, [&] { copy_through(a, b, 3); });
    another.replay();
  }
  CHECK(cuda.device->pool().stats().held.current <= before);
  CHECK(cuda.device->pool().validate() == "");
}

TEST_CASE("a write through strides is one launch of its own, in a graph too") {
  FakeCuda cuda(fake_config(), true);
  const Tensor x = from_host<float>(Floats(12, 1.0F), {3, 4}, *cuda.device);
  const Tensor y = from_host<float>(Floats(12, 2.0F), {4, 3}, *cuda.device);
  const auto& launch = cuda.device->api().cuLaunchKernel;
  const std::uint64_t before = launch.calls();
  assign(x.transpose(), y);
  CHECK(launch.calls() == before + 1);
  const Graph graph = capture(*cuda.device, [&] { assign(x.transpose(), y); });
  CHECK(graph.size() == 1);
  graph.replay();
}

TEST_CASE("a graph may go while it runs") {
  FakeCuda cuda;
  const Tensor x = on(*cuda.device, {1, 2, 3});
  const Tensor y = on(*cuda.device, {0, 0, 0});
  Graph graph = capture(*cuda.device, [&] { copy_through(x, y, 3); });
  cuda.driver.hold(queue(cuda));
  graph.replay();
  graph = {};
  // Another stream may have none of its memory yet.
  const Stream other = cuda.device->create_stream();
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) {
    blocks.push_back(cuda.device->pool().allocate(16, other.id()));
    REQUIRE(cuda.device->api().cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(blocks.back()), 0xff,
                                               16, static_cast<CUstream>(other.native())) ==
            CUDA_SUCCESS);
  }
  cuda.driver.let_go(queue(cuda));
  CHECK(y.to_host<float>() == Floats{1, 2, 3});
  for (void* block : blocks) cuda.device->pool().deallocate(block, other.id());
}

TEST_CASE("an update is done in place where the driver can, and else anew; both are counted") {
  FakeCuda cuda;
  const Tensor x = on(*cuda.device, {1, 2, 3});
  const Tensor z = on(*cuda.device, {7, 8, 9});
  const Tensor y = on(*cuda.device, {0, 0, 0});
  const GraphCounters& counters = cuda.device->counters().graphs;
  const driver::CudaApi& api = cuda.device->api();
  Graph graph = capture(*cuda.device, [&] { copy_through(x, y, 1); });
  graph.update([&] { copy_through(z, y, 1); });
  CHECK(counters.updated == 1);
  CHECK(api.cuGraphInstantiateWithFlags.calls() == 1);
  graph.replay();
  CHECK(y.to_host<float>() == Floats{7, 8, 9});
  graph.update([&] { copy_through(x, y, 2); });
  CHECK(counters.updated == 1);
  CHECK(counters.rebuilt == 1);
  CHECK(graph.size() == 3);
  graph.replay();
  CHECK(y.to_host<float>() == Floats{1, 2, 3});
  // Neither way is open: the graph is what it was.
  cuda.driver.fail("cuGraphExecUpdate", 1, CUDA_ERROR_OUT_OF_MEMORY);
  cuda.driver.fail("cuGraphInstantiateWithFlags", 1, CUDA_ERROR_OUT_OF_MEMORY);
  CHECK_THROWS_AS(graph.update([&] { copy_through(z, y, 2); }), DriverError);
  graph.replay();
  CHECK(y.to_host<float>() == Floats{1, 2, 3});
  CHECK(counters.updated + counters.rebuilt == 2);
}

TEST_CASE("a call that kills the capture is told of, and the device works on") {
  FakeCuda cuda;
  const Tensor x = on(*cuda.device, {1, 2, 3});
  const Tensor y = on(*cuda.device, {0, 0, 0});
  (void)capture(*cuda.device, [] {});
  const std::uint64_t live = cuda.live_blocks();
  CHECK_THROWS_AS(capture(*cuda.device,
                          [&] {
                            copy_through(x, y, 1);
                            (void)cuda.device->api().cuStreamSynchronize(queue(cuda));
                          }),
                  DriverError);
  CHECK_FALSE(captures(cuda));
  CHECK(cuda.live_blocks() == live);
  const Graph graph = capture(*cuda.device, [&] { copy_through(x, y, 1); });
  graph.replay();
  CHECK(y.to_host<float>() == Floats{1, 2, 3});
}

TEST_CASE("kernels are captured, compiled ones and new ones, and what they share stays") {
  FakeCuda cuda(test::fake_config(), true);
  const Tensor x = on(*cuda.device, Floats(1 << 20, 1.0F));
  Tensor total = x.sum();
  CHECK(total.node()->storage->ticket != 0);
  const Graph graph = capture(*cuda.device, [&] { total = (x * 2.0F).eval().sum(); });
  CHECK(graph.size() == 2);
  CHECK(total.node()->storage->ticket == 0);  // each replay makes another value
  const std::uint64_t launches = cuda.driver.launches();
  const std::uint64_t live = cuda.live_blocks();
  for (int i = 0; i < 10; ++i) graph.replay();
  CHECK(cuda.driver.launches() == launches);  // as calls of their own
  CHECK(cuda.live_blocks() == live);
}

TEST_CASE("scratch memory that a graph shares stays when its stream's turn is over") {
  FakeCuda cuda;
  const std::uint64_t before = cuda.live_blocks();
  std::shared_ptr<void> shared;
  {
    cuda::StreamScratch scratch(*cuda.device);
    const void* const mine = scratch.reduction(cuda.stream);
    shared = scratch.share(cuda.stream);
    for (std::size_t i = 0; i < cuda::StreamScratch::kStreams; ++i) {
      const Stream other = cuda.device->create_stream();
      CHECK(scratch.reduction(other) != mine);
    }
    CHECK(cuda.live_blocks() == before + cuda::StreamScratch::kStreams + 1);
  }
  CHECK(cuda.live_blocks() == before + 1);
  shared.reset();
  CHECK(cuda.live_blocks() == before);
}

TEST_CASE("a device that closes takes its graphs with it") {
  FakeDriver driver;
  Graph graph;
  std::optional<Graph> dropped;
  {
    const auto device = cuda::CudaDevice::open(driver.api(), 0, test::fake_config());
    const Tensor x = on(*device, {1, 2, 3});
    const Tensor y = on(*device, {0, 0, 0});
    graph = capture(*device, [&] { copy_through(x, y, 2); });
    dropped = capture(*device, [&] { copy_through(y, x, 2); });
    graph.replay();
    dropped.reset();
    device->close();
    CHECK_THROWS_AS(graph.replay(), ClosedError);
    CHECK(device->counters().graphs.live == 0);
  }
  CHECK(driver.leaks() == "");
  graph = {};
  CHECK(FakeDriver::calls_after_end() == 0);
}

namespace {

/// Capture, replays, an update of each kind and the end of the graph; errors end it early.
void play(FakeCuda& cuda, const Tensor& x, const Tensor& y) {
  try {
    Graph graph = capture(*cuda.device, [&] { copy_through(x, y, 70); });
    graph.replay();
    graph.update([&] { copy_through(y, x, 70); });
    graph.update([&] { copy_through(x, y, 2); });
    graph.replay();
  } catch (const Error&) {
  }
}

struct Entry {
  std::string name;
  std::uint64_t calls = 0;
};

std::vector<Entry> calls_of(const driver::CudaApi& api) {
  std::vector<Entry> calls;
#define FOREBAY_COUNT(name, version) calls.push_back({#name, api.name.calls()});
  FOREBAY_CUDA_FUNCTIONS(FOREBAY_COUNT)
#undef FOREBAY_COUNT
  return calls;
}

/// The scenario with a failing call; an empty name fails none. Returns what was called.
std::vector<Entry> play_with_fault(const std::string& name, int nth, bool from_then_on) {
  INFO(name << " fails at call " << nth << (from_then_on ? " and from then on" : ""));
  FakeDriver driver;
  std::vector<Entry> calls;
  {
    FakeCuda cuda(driver);
    const Tensor x = on(*cuda.device, {1, 2, 3});
    const Tensor y = on(*cuda.device, {0, 0, 0});
    (void)y.to_host<float>();
    const std::vector<Entry> before = calls_of(cuda.device->api());
    if (!name.empty()) driver.fail(name, nth, CUDA_ERROR_UNKNOWN, from_then_on);
    play(cuda, x, y);
    driver.heal();
    calls = calls_of(cuda.device->api());
    for (std::size_t i = 0; i < calls.size(); ++i) calls[i].calls -= before[i].calls;
    // A driver that never ends a capture cannot be helped.
    if (name != "cuStreamEndCapture" || !from_then_on) {
      REQUIRE_FALSE(captures(cuda));
      assign(x, on(*cuda.device, {4, 5, 6}));
      {
        const Graph graph = capture(*cuda.device, [&] { copy_through(x, y, 3); });
        graph.replay();
      }
      REQUIRE(y.to_host<float>() == Floats{4, 5, 6});
      // x, y and the scratch of reductions.
      REQUIRE(cuda.live_blocks() == 3);
    }
    REQUIRE(cuda.device->pool().validate() == "");
    REQUIRE(cuda.device->counters().graphs.live == 0);
  }
  // What the driver refuses to destroy is left to it.
  if (name != "cuGraphDestroy" && name != "cuGraphExecDestroy") REQUIRE(driver.leaks() == "");
  return calls;
}

}  // namespace

TEST_CASE("each call of the driver may fail at each time in the life of a graph") {
  int faults = 0;
  for (const Entry& entry : play_with_fault("", 0, false)) {
    if (entry.name.rfind("cuGetError", 0) == 0) continue;
    for (std::uint64_t nth = 1; nth <= entry.calls; ++nth) {
      for (const bool from_then_on : {false, true}) {
        (void)play_with_fault(entry.name, static_cast<int>(nth), from_then_on);
        ++faults;
      }
      // The many copies are alike.
      if (nth == 8) nth = std::max<std::uint64_t>(nth, entry.calls - 4);
    }
  }
  CHECK(faults > 100);
}
