#include "compute/cuda/launcher.hpp"

#include <cstring>
#include <string>

#include "tests/compute/cuda/fake_cuda.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::test;
using cuda::KernelLaunch;
using cuda::Launcher;

namespace {

struct LauncherSetting {
  explicit LauncherSetting(bool graphs = true) : cuda(config_of(graphs), true) {}
  static Config config_of(bool graphs) {
    Config config = fake_config();
    config.kernels.graphs = graphs;
    return config;
  }

  /// The driver only counts launches, so functions are numbers.
  CUresult launch(std::uintptr_t function, std::size_t bytes = 64) {
    return launcher.launch({.function = reinterpret_cast<CUfunction>(function),
                            .parameter = parameter,
                            .parameter_bytes = bytes},
                           cuda.stream);
  }

  FakeCuda cuda;
  alignas(8) std::byte parameter[64] = {};
  Launcher launcher{*cuda.device};
  const driver::CudaApi& api = cuda.device->api();
};

}  // namespace

TEST_CASE("a kernel is launched by a graph of its own, which is made once") {
  LauncherSetting setting;
  for (int i = 0; i < 100; ++i) {
    CHECK(setting.launch(1) == CUDA_SUCCESS);
    CHECK(setting.launch(2) == CUDA_SUCCESS);
  }
  CHECK(setting.launcher.graphs() == 2);
  CHECK(setting.cuda.driver.launches() == 200);
  CHECK(setting.api.cuGraphInstantiateWithFlags.calls() == 2);
  CHECK(setting.api.cuGraphExecKernelNodeSetParams.calls() == 200);
  CHECK(setting.api.cuGraphLaunch.calls() == 200);
  CHECK(setting.api.cuLaunchKernel.calls() == 0);
}

TEST_CASE("each launch by a graph has its own blocks, threads, shared memory and parameter") {
  LauncherSetting setting;
  for (unsigned i = 1; i <= 6; ++i) {
    const auto function = reinterpret_cast<CUfunction>(std::uintptr_t{1} + i % 2);
    const std::uint64_t parameter = 1000 + i;
    std::memcpy(setting.parameter, &parameter, sizeof parameter);
    CHECK(setting.launcher.launch({.function = function,
                                   .blocks = 10 * i,
                                   .threads = 32 * i,
                                   .shared_bytes = 256 * i,
                                   .parameter = setting.parameter,
                                   .parameter_bytes = 64},
                                  setting.cuda.stream) == CUDA_SUCCESS);
    const FakeDriver::Launch last = setting.cuda.driver.last_launch();
    CHECK(last.function == function);
    CHECK(last.blocks == 10 * i);
    CHECK(last.threads == 32 * i);
    CHECK(last.shared_bytes == 256 * i);
    CHECK(last.parameter == parameter);
  }
  CHECK(setting.api.cuLaunchKernel.calls() == 0);
}

TEST_CASE("long parameters and streams that are captured launch directly") {
  LauncherSetting setting;
  CHECK(setting.launch(1, Launcher::kShortBytes) == CUDA_SUCCESS);
  CHECK(setting.api.cuLaunchKernel.calls() == 0);
  CHECK(setting.launch(1, Launcher::kShortBytes + 1) == CUDA_SUCCESS);
  CHECK(setting.api.cuLaunchKernel.calls() == 1);
  const CUstream stream = cuda::native(setting.cuda.stream);
  REQUIRE(setting.api.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS);
  CHECK(setting.launch(1) == CUDA_SUCCESS);
  CHECK(setting.launch(2) == CUDA_SUCCESS);
  CUgraph graph = nullptr;
  REQUIRE(setting.api.cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
  std::size_t nodes = 0;
  CHECK(setting.api.cuGraphGetNodes(graph, nullptr, &nodes) == CUDA_SUCCESS);
  CHECK(nodes == 2);
  CHECK(setting.api.cuGraphDestroy(graph) == CUDA_SUCCESS);
  CHECK(setting.api.cuLaunchKernel.calls() == 3);
  CHECK(setting.launcher.graphs() == 1);
}

TEST_CASE("kernels.graphs false: every launch is one call of the driver") {
  LauncherSetting setting(false);
  for (int i = 0; i < 10; ++i) CHECK(setting.launch(1) == CUDA_SUCCESS);
  CHECK(setting.launcher.graphs() == 0);
  CHECK(setting.api.cuLaunchKernel.calls() == 10);
  CHECK(setting.api.cuGraphCreate.calls() == 0);
  CHECK(setting.api.cuStreamIsCapturing.calls() == 0);
}

TEST_CASE("a kernel's launches on another stream do not wait for its graph") {
  LauncherSetting setting;
  CHECK(setting.launch(1) == CUDA_SUCCESS);
  const Stream other = setting.cuda.device->create_stream();
  CHECK(setting.launcher.launch({.function = reinterpret_cast<CUfunction>(std::uintptr_t{1}),
                                 .parameter = setting.parameter,
                                 .parameter_bytes = 64},
                                other) == CUDA_SUCCESS);
  CHECK(setting.api.cuGraphLaunch.calls() == 1);
  CHECK(setting.api.cuLaunchKernel.calls() == 1);
}

TEST_CASE(
    "graphs are bounded: kernels that take turns keep theirs, and those that rest lose them") {
  LauncherSetting setting;
  constexpr std::uintptr_t kKernels = 2 * Launcher::kGraphs;
  // A kernel has its turn sooner than it would lose its place, so nothing is made a second time.
  for (int round = 0; round < 20; ++round) {
    for (std::uintptr_t k = 1; k <= kKernels; ++k) CHECK(setting.launch(k) == CUDA_SUCCESS);
  }
  CHECK(setting.launcher.graphs() == Launcher::kGraphs);
  CHECK(setting.api.cuGraphInstantiateWithFlags.calls() == Launcher::kGraphs);
  CHECK(setting.cuda.driver.launches() == 20 * kKernels);
  // Others for as long as it takes: then each new one has a graph, and their number stays.
  constexpr std::uintptr_t kNew = 1000;
  for (std::uint64_t i = 0; i <= Launcher::kRest; ++i) CHECK(setting.launch(kNew) == CUDA_SUCCESS);
  const std::uint64_t direct = setting.api.cuLaunchKernel.calls();
  for (std::uintptr_t k = 1; k < Launcher::kGraphs; ++k) {
    CHECK(setting.launch(kNew + k) == CUDA_SUCCESS);
  }
  CHECK(setting.api.cuLaunchKernel.calls() == direct);
  CHECK(setting.launcher.graphs() == Launcher::kGraphs);
}

TEST_CASE("a graph that cannot be made, changed or launched leaves the launch to cuLaunchKernel") {
  for (const char* call : {"cuGraphCreate", "cuGraphAddKernelNode", "cuGraphInstantiateWithFlags",
                           "cuGraphExecKernelNodeSetParams", "cuGraphLaunch"}) {
    INFO(call);
    LauncherSetting setting;
    const std::string before = setting.cuda.driver.leaks();
    setting.cuda.driver.fail(call, 1, CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(setting.launch(1) == CUDA_SUCCESS);
    CHECK(setting.cuda.driver.launches() == 1);
    CHECK(setting.api.cuLaunchKernel.calls() == 1);
    CHECK(setting.launcher.graphs() == 0);
    CHECK(setting.cuda.driver.leaks() == before);
    // What takes the driver's time for nothing is tried again only after a while.
    for (std::uint64_t i = 1; i < Launcher::kRest; ++i) CHECK(setting.launch(1) == CUDA_SUCCESS);
    CHECK(setting.api.cuGraphCreate.calls() == 1);
    CHECK(setting.launch(1) == CUDA_SUCCESS);
    CHECK(setting.launcher.graphs() == 1);
  }
}

TEST_CASE("a stream of which nobody knows whether it is captured is launched on directly") {
  LauncherSetting setting;
  setting.cuda.driver.fail("cuStreamIsCapturing", 1, CUDA_ERROR_UNKNOWN);
  CHECK(setting.launch(1) == CUDA_SUCCESS);
  CHECK(setting.api.cuLaunchKernel.calls() == 1);
  CHECK(setting.launch(1) == CUDA_SUCCESS);
  CHECK(setting.api.cuGraphLaunch.calls() == 1);
}

TEST_CASE("what the driver says of a launch is the answer; it leaves no graph behind") {
  std::string before;
  FakeCuda cuda(fake_config(), true);
  before = cuda.driver.leaks();
  {
    Launcher launcher(*cuda.device);
    std::byte parameter[8] = {};
    const KernelLaunch launch{.function = reinterpret_cast<CUfunction>(std::uintptr_t{1}),
                              .parameter = parameter,
                              .parameter_bytes = sizeof parameter};
    CHECK(launcher.launch(launch, cuda.stream) == CUDA_SUCCESS);
    CHECK(cuda.driver.leaks() != before);
    cuda.driver.fail("cuGraphLaunch", 1, CUDA_ERROR_ILLEGAL_ADDRESS);
    cuda.driver.fail("cuLaunchKernel", 1, CUDA_ERROR_LAUNCH_FAILED);
    CHECK(launcher.launch(launch, cuda.stream) == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(launcher.launch(launch, cuda.stream) == CUDA_SUCCESS);
  }
  CHECK(cuda.driver.leaks() == before);
}
