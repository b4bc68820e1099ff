// What a memory checker must find; run by memcheck.sh alone.
#include "forebay/compute/backend.hpp"
#include "tests/gpu/gpu_compute.hpp"

using namespace forebay;

TEST_CASE("one float beyond the end of a block is written", "[.planted]") {
  FOREBAY_REQUIRE_DEVICE();
  static constexpr compute::CustomKernel kOverrun{
      .name = "overrun",
      .cuda_source =
          "extern \"C\" __global__ void overrun(float* block, unsigned count) {\n"
          "  if (threadIdx.x <= count) block[threadIdx.x] = 1.0F;\n"
          "}\n",
      .host = nullptr,
  };
  Config config;
  config.pool.mode = pool::PoolMode::passthrough;
  test::GpuCompute gpu(config);
  unsigned count = 100;
  test::DeviceBlock block(gpu, count * sizeof(float), gpu.stream);
  float* address = block.get<float>();
  void* arguments[] = {&address, &count};
  gpu.backend.run(kOverrun, arguments, 1, gpu.stream);
  gpu.stream.synchronize();
}
