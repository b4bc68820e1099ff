// Launches of kernels as graphs of their own: order and parameters, however many are under way.
#include <cstdint>
#include <vector>

#include "compute/cuda/launcher.hpp"
#include "forebay/compute/tensor.hpp"
#include "runtime/cuda/kernel_cache.hpp"
#include "tests/gpu/gpu_compute.hpp"

using namespace forebay;
using namespace forebay::test;
using cuda::Launcher;

namespace {

/// A parameter that a graph takes, or one that is too long for it.
template <std::size_t kFiller>
struct Step {
  unsigned* cell;  // what is there comes of the launch before
  unsigned add;
  unsigned spin;
  unsigned char filler[kFiller];
};
using ShortStep = Step<8>;
using LongStep = Step<Launcher::kShortBytes>;

std::string source(std::size_t filler) {
  return "struct Step { unsigned* cell; unsigned add, spin; unsigned char filler[" +
         std::to_string(filler) + R"(]; };
extern "C" __global__ void step(const __grid_constant__ Step a) {
  const long long start = clock64();
  while (clock64() - start < a.spin) {
  }
  unsigned shared;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared));
  if (blockIdx.x + 1 == gridDim.x && threadIdx.x + 1 == blockDim.x) {
    a.cell[1] = 3 * a.cell[0] + a.add + 5 * gridDim.x + 7 * blockDim.x + shared;
  }
}
)";
}

/// What the step leaves after `before`.
unsigned after(unsigned before, const cuda::KernelLaunch& launch, unsigned add) {
  return 3 * before + add + 5 * launch.blocks + 7 * launch.threads +
         static_cast<unsigned>(launch.shared_bytes);
}

}  // namespace

TEST_CASE("on a GPU launches by graphs and others run in order, each with its own parameter") {
  FOREBAY_REQUIRE_DEVICE();
  const auto device = cuda::CudaDevice::open(driver::CudaApi::open(), 0, {});
  const driver::CudaApi& api = device->api();
  const CUfunction by_graph = device->kernels().get(source(8), "step");
  const CUfunction directly = device->kernels().get(source(Launcher::kShortBytes), "step");
  constexpr unsigned kLaunches = 1000;
  constexpr std::size_t kBytes = (kLaunches + 1) * sizeof(unsigned);
  const Stream stream = device->default_stream();
  const auto cells = static_cast<unsigned*>(device->pool().allocate(kBytes, stream.id()));
  {
    Launcher launcher(*device);
    const std::uint64_t before = api.cuGraphLaunch.calls();
    std::uint64_t by_graphs = 0;
    // Slow ones, so that hundreds are under way, and fast ones.
    for (const unsigned spin : {20'000U, 0U}) {
      REQUIRE(api.cuMemsetD32Async(reinterpret_cast<CUdeviceptr>(cells), 1, kLaunches + 1,
                                   cuda::native(stream)) == CUDA_SUCCESS);
      std::vector<unsigned> expected{1};
      for (unsigned i = 0; i < kLaunches; ++i) {
        ShortStep brief{.cell = cells + i, .add = i, .spin = spin, .filler = {}};
        LongStep full{.cell = cells + i, .add = i, .spin = spin, .filler = {}};
        const bool graph = i % 7 != 0;
        by_graphs += graph ? 1 : 0;
        const cuda::KernelLaunch launch{
            .function = graph ? by_graph : directly,
            .blocks = 1 + i % 5,
            .threads = 32 + i % 3 * 32,
            .shared_bytes = i % 4 * 1024,
            .parameter = graph ? static_cast<void*>(&brief) : static_cast<void*>(&full),
            .parameter_bytes = graph ? sizeof brief : sizeof full};
        REQUIRE(launcher.launch(launch, stream) == CUDA_SUCCESS);
        expected.push_back(after(expected.back(), launch, i));
      }
      std::vector<unsigned> result(kLaunches + 1);
      REQUIRE(api.cuMemcpyDtoHAsync(result.data(), reinterpret_cast<CUdeviceptr>(cells), kBytes,
                                    cuda::native(stream)) == CUDA_SUCCESS);
      device->default_stream().synchronize();
      CHECK(result == expected);
    }
    CHECK(launcher.graphs() == 1);
    CHECK(api.cuGraphLaunch.calls() - before == by_graphs);
  }
  device->pool().deallocate(cells, stream.id());
  device->close();
}

TEST_CASE("on a GPU launches go on while another stream is captured, in every mode") {
  FOREBAY_REQUIRE_DEVICE();
  for (const CUstreamCaptureMode mode :
       {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
        CU_STREAM_CAPTURE_MODE_RELAXED}) {
    GpuCompute gpu;
    const driver::CudaApi& api = dynamic_cast<cuda::CudaDevice&>(gpu.device).api();
    const Tensor x = full({1000}, 0.5F, gpu.device);
    CHECK((x + 1.0F).sum().item<float>() == 1500.0F);  // what is loaded once is there
    const Stream other = gpu.device.create_stream();
    REQUIRE(api.cuStreamBeginCapture(cuda::native(other), mode) == CUDA_SUCCESS);
    const std::uint64_t before = api.cuGraphLaunch.calls();
    for (int i = 0; i < 50; ++i) {
      // The second has a kernel that no graph is there for yet.
      CHECK((x + static_cast<float>(i)).sum().item() == 500.0F + 1000.0F * static_cast<float>(i));
      CHECK(exp((x * static_cast<float>(-i)).sum()).item<float>() <= 1.0F);
    }
    CHECK(api.cuGraphLaunch.calls() - before >= 50);
    CUgraph graph = nullptr;
    REQUIRE(api.cuStreamEndCapture(cuda::native(other), &graph) == CUDA_SUCCESS);
    REQUIRE(graph != nullptr);
    CHECK(api.cuGraphDestroy(graph) == CUDA_SUCCESS);
  }
}

TEST_CASE("on a GPU small operations are launched by graphs in each tier, with the same results") {
  FOREBAY_REQUIRE_DEVICE();
  std::vector<std::vector<float>> results;
  for (const FusionTier tier : {FusionTier::interpret, FusionTier::compile}) {
    for (const bool graphs : {true, false}) {
      Config config = device_config();
      config.fusion.tier = tier;
      config.kernels.graphs = graphs;
      GpuCompute gpu(config);
      const auto& api = dynamic_cast<cuda::CudaDevice&>(gpu.device).api();
      const std::uint64_t before = api.cuGraphLaunch.calls();
      std::vector<Tensor> sums;
      // All at once, none of them waited for.
      for (int i = 0; i < 300; ++i) {
        const Tensor x = full({1000 + i}, 0.5F + static_cast<float>(i), gpu.device);
        sums.push_back((x + 1.0F).sum());
        sums.push_back((x * 2.0F).max());
      }
      std::vector<float> values;
      for (const Tensor& sum : sums) values.push_back(sum.item());
      results.push_back(values);
      // The interpreter's kernel for a maximum has a long parameter.
      const std::uint64_t least = tier == FusionTier::interpret ? 300 : 600;
      const std::uint64_t launches = api.cuGraphLaunch.calls() - before;
      CHECK(launches >= (graphs ? least : 0));
      if (!graphs) CHECK(launches == 0);
    }
  }
  for (std::size_t k = 1; k < results.size(); ++k) CHECK(results[k] == results[0]);
  CHECK(results[0][2 * 299] == 1299.0F * (299.0F + 1.5F));
}
