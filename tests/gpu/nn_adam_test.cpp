// Adam on a device: against its definition, against the host's bits, and captured in a graph.
#include "forebay/compute/prepare.hpp"
#include "forebay/compute/shaping.hpp"
#include "forebay/runtime/runtime.hpp"
#include "runtime/cuda/cuda_device.hpp"
#include "tests/nn/adam_cases.hpp"
#include "tests/nn/adam_device_bench.hpp"
#include "tests/support/device.hpp"

using namespace forebay;

namespace {

constexpr std::size_t kTiny = 5000;

std::vector<Tensor> tiny_leaves(Device& device) {
  std::vector<Tensor> leaves;
  for (std::size_t i = 0; i < kTiny; ++i) {
    const std::vector<float> values(i % 7 + 1, 0.5F);
    leaves.push_back(nn::requires_grad(
        from_host<float>(values, {static_cast<std::int64_t>(values.size())}, device)));
  }
  return leaves;
}

}  // namespace

TEST_CASE("Adam on a device stays near its definition in double over 1000 steps") {
  FOREBAY_REQUIRE_DEVICE();
  Runtime runtime = Runtime::create(test::device_config());
  testing::check_adam_over_1000_steps(runtime.device("cuda"));
}

TEST_CASE("Adam on a device updates tensors of any size") {
  FOREBAY_REQUIRE_DEVICE();
  Runtime runtime = Runtime::create(test::device_config());
  testing::check_adam_sizes(runtime.device("cuda"));
}

#ifdef FOREBAY_HAVE_INTERPRETER
TEST_CASE("the first step of an optimizer and the first gather wait for no compiler") {
  FOREBAY_REQUIRE_DEVICE();
  Config config = test::device_config();
  config.kernels.compile_after = 1000;  // nothing is made in the background either
  Runtime runtime = Runtime::create(config);
  Device& device = runtime.device("cuda");
  const Tensor w = nn::requires_grad(full({100, 8}, 0.5F, device));
  nn::Adam adam({w}, nn::AdamOptions(1e-2));
  const Tensor rows = from_host<std::int64_t>(std::vector<std::int64_t>{7, 0, 99}, {3}, device);
  nn::backward((w * w).sum());
  adam.step();
  const Tensor now = w.detach();
  CHECK(now.sum().item() < 400.0F);
  CHECK(index_select(now, 0, rows).numel() == 24);
  CHECK(exp(now.to(DType::f64)).max().item<double>() < 1.7);
  CHECK(device.counters().kernels.compiled == 0);
  CHECK(device.counters().kernels.disk_hits == 0);
  CHECK(device.counters().kernels.compile_wait_us == 0);
}
#endif

TEST_CASE("Adam's step is one call of the driver for 5000 tensors and allocates nothing") {
  FOREBAY_REQUIRE_DEVICE();
  Runtime runtime = Runtime::create(test::device_config());
  Device& device = runtime.device("cuda");
  const std::vector<Tensor> leaves = tiny_leaves(device);
  nn::Adam adam(leaves, nn::AdamOptions(1e-2));
  for (const Tensor& leaf : leaves) nn::backward(leaf.sum());
  adam.step();
  device.synchronize();
  REQUIRE(prepare(device));  // a kernel that is loaded in the background is calls too

  const std::uint64_t calls = device.driver_calls();
  const std::uint64_t launches = device.counters().kernels.compiled_launches.load();
  const std::uint64_t allocations = device.pool().stats().allocations.total;
  for (int i = 0; i < 9; ++i) adam.step();
  // The launch, and before it the look at which context is current.
  CHECK(device.driver_calls() == calls + 9 * 2);
  CHECK(device.counters().kernels.compiled_launches.load() == launches + 9);
  CHECK(device.pool().stats().allocations.total == allocations);
  CHECK(device.counters().tensor_tables.load() == 1);
  CHECK(adam.steps() == 10);
  for (const std::size_t i : {std::size_t{0}, std::size_t{6}, kTiny - 1}) {
    for (const float p : leaves[i].to_host<float>()) CHECK(p == Approx(0.5 - 10 * 1e-2));
  }
}

TEST_CASE("Adam gives the same bits on a device and on the host, whatever the alignment") {
  FOREBAY_REQUIRE_DEVICE();
  Runtime runtime = Runtime::create(test::device_config());
  testing::check_adam_alignments(runtime.device("cuda"));
}

TEST_CASE("a captured step replays as further steps") {
  FOREBAY_REQUIRE_DEVICE();
  Runtime runtime = Runtime::create(test::device_config());
  Device& device = runtime.device("cuda");
  const auto& cuda = dynamic_cast<const cuda::CudaDevice&>(device);
  const driver::CudaApi& api = cuda.api();
  const std::vector<float> start{1, -2, 3, 100, 0.25F};
  const std::vector<float> gradient{1, 0.5F, -3, 1e-3F, 2};
  const nn::AdamOptions options(1e-2);
  const Tensor p = nn::requires_grad(from_host<float>(start, {5}, device));
  nn::Adam adam({p}, options);
  testing::AdamReference reference(start, options);
  testing::set_gradient(p, gradient);
  adam.step();
  device.synchronize();

  cuda.make_current();
  const auto stream = static_cast<CUstream>(device.default_stream().native());
  REQUIRE(api.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) == CUDA_SUCCESS);
  adam.step();
  CUgraph graph = nullptr;
  REQUIRE(api.cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
  CUgraphExec replay = nullptr;
  REQUIRE(api.cuGraphInstantiateWithFlags(&replay, graph, 0) == CUDA_SUCCESS);
  for (int i = 0; i < 20; ++i) REQUIRE(api.cuGraphLaunch(replay, stream) == CUDA_SUCCESS);
  device.synchronize();
  CHECK(api.cuGraphExecDestroy(replay) == CUDA_SUCCESS);
  CHECK(api.cuGraphDestroy(graph) == CUDA_SUCCESS);

  CHECK(adam.steps() == 21);
  for (int i = 0; i < 21; ++i) reference.step(gradient, 1e-2);
  CHECK(testing::adam_error(p, reference) <= 1);
  // Steps of the ordinary kind go on from there.
  adam.step();
  reference.step(gradient, 1e-2);
  CHECK(testing::adam_error(p, reference) <= 1);
}
