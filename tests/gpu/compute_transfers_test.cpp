// Transfers between pageable host memory and a device.
#include <numeric>
#include <random>

#include "forebay/pool/error.hpp"
#include "tests/gpu/gpu_compute.hpp"

using namespace forebay;
using namespace forebay::test;
using compute::Backend;

namespace {

std::vector<std::int32_t> ramp(std::size_t count, std::int32_t from) {
  std::vector<std::int32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), from);
  return numbers;
}

template <typename T>
std::vector<T> read_back(GpuCompute& gpu, const DeviceBlock& block, std::size_t count,
                         const Stream& stream) {
  std::vector<T> got(count);
  gpu.backend.download(block.get(), got.data(), count * sizeof(T), stream);
  return got;
}

}  // namespace

TEST_CASE("uploads of odd sizes and both types, and back") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  for (const std::size_t count : {std::size_t{1}, std::size_t{3}, std::size_t{255},
                                  std::size_t{262'143}, std::size_t{262'144}, std::size_t{262'145},
                                  std::size_t{903'168}, std::size_t{20'000'003}}) {
    INFO(count << " elements");
    const std::vector<std::int32_t> whole = ramp(count, -7);
    std::vector<float> real(whole.begin(), whole.end());
    const DeviceBlock block(gpu, count * 4, gpu.stream);
    gpu.backend.upload(whole.data(), DType::i32, block.get(), DType::f32, count, gpu.stream);
    CHECK(read_back<float>(gpu, block, count, gpu.stream) == real);
    gpu.backend.upload(whole.data(), DType::i32, block.get(), DType::i32, count, gpu.stream);
    CHECK(read_back<std::int32_t>(gpu, block, count, gpu.stream) == whole);
    if (count > (1U << 24)) continue;  // beyond, f32 does not hold every number
    gpu.backend.upload(real.data(), DType::f32, block.get(), DType::i32, count, gpu.stream);
    CHECK(read_back<std::int32_t>(gpu, block, count, gpu.stream) == whole);
  }
}

TEST_CASE("a source may be changed as soon as its upload has returned") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  constexpr std::size_t kCount = 3'000'000;
  std::vector<DeviceBlock> blocks;
  std::vector<std::int32_t> source(kCount);
  for (std::int32_t round = 0; round < 8; ++round) {
    blocks.emplace_back(gpu, kCount * 4, gpu.stream);
    std::fill(source.begin(), source.end(), round);
    gpu.backend.upload(source.data(), DType::i32, blocks.back().get(), DType::i32, kCount,
                       gpu.stream);
  }
  for (std::int32_t round = 0; round < 8; ++round) {
    CHECK(read_back<std::int32_t>(gpu, blocks[static_cast<std::size_t>(round)], kCount,
                                  gpu.stream) == std::vector<std::int32_t>(kCount, round));
  }
}

TEST_CASE("many uploads together, of many sizes, on several streams") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  std::vector<Stream> streams = {gpu.stream, gpu.device.create_stream(),
                                 gpu.device.create_stream()};
  std::mt19937 random(3);
  for (int round = 0; round < 6; ++round) {
    const Stream& stream = streams[static_cast<std::size_t>(round) % streams.size()];
    std::vector<std::vector<std::int32_t>> sources;
    std::vector<DeviceBlock> blocks;
    std::vector<Backend::Upload> uploads;
    for (int i = 0; i < 40; ++i) {
      const std::size_t count = 1 + random() % (i % 5 == 0 ? 1'000'000 : 1000);
      sources.push_back(ramp(count, i * 1000 + round));
      blocks.emplace_back(gpu, count * 4, stream);
    }
    for (std::size_t i = 0; i < sources.size(); ++i) {
      uploads.push_back(
          {sources[i].data(), DType::i32, blocks[i].get(), DType::i32, sources[i].size()});
    }
    gpu.backend.upload_many(uploads, stream);
    bool right = true;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      right =
          right && read_back<std::int32_t>(gpu, blocks[i], sources[i].size(), stream) == sources[i];
    }
    CHECK(right);
  }
}

TEST_CASE("an error of a copy reaches the caller, and the next transfer works") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  const std::vector<std::int32_t> numbers = ramp(3'000'000, 0);
  CHECK_THROWS_AS(gpu.backend.upload(numbers.data(), DType::i32, nullptr, DType::i32,
                                     numbers.size(), gpu.stream),
                  DriverError);
  const DeviceBlock block(gpu, numbers.size() * 4, gpu.stream);
  gpu.backend.upload(numbers.data(), DType::i32, block.get(), DType::i32, numbers.size(),
                     gpu.stream);
  CHECK(read_back<std::int32_t>(gpu, block, numbers.size(), gpu.stream) == numbers);
}

TEST_CASE("copies on the device") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  const std::vector<std::int32_t> numbers = ramp(100'003, 5);
  const DeviceBlock from(gpu, numbers.size() * 4, gpu.stream);
  const DeviceBlock to(gpu, numbers.size() * 4, gpu.stream);
  gpu.backend.upload(numbers.data(), DType::i32, from.get(), DType::i32, numbers.size(),
                     gpu.stream);
  gpu.backend.copy(from.get(), to.get(), numbers.size() * 4, gpu.stream);
  CHECK(read_back<std::int32_t>(gpu, to, numbers.size(), gpu.stream) == numbers);
  gpu.backend.copy(from.get(), to.get(), 0, gpu.stream);
}

TEST_CASE("custom kernels run with the prelude") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  static const compute::CustomKernel kernel{.name = "scale_exp",
                                            .cuda_source = R"(
extern "C" __global__ void scale_exp(float* data, float factor, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] = fb_exp(data[i]) * factor;
}
)",
                                            .block = 128,
                                            .host = nullptr};
  std::vector<float> numbers(1000, 0.0F);
  const DeviceBlock block(gpu, numbers.size() * 4, gpu.stream);
  gpu.backend.upload(numbers.data(), DType::f32, block.get(), DType::f32, numbers.size(),
                     gpu.stream);
  void* data = block.get();
  float factor = 3.0F;
  int count = 1000;
  void* const arguments[] = {&data, &factor, &count};
  gpu.backend.run(kernel, arguments, 8, gpu.stream);
  CHECK(read_back<float>(gpu, block, numbers.size(), gpu.stream) == std::vector<float>(1000, 3.0F));
  const std::uint64_t compiled = gpu.device.counters().kernels.compiled;
  gpu.backend.run(kernel, arguments, 8, gpu.stream);
  CHECK(gpu.device.counters().kernels.compiled == compiled);
  gpu.stream.synchronize();
}
