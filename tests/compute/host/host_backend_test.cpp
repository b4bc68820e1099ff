#include "compute/host/host_backend.hpp"

#include <cstdio>
#include <limits>

#include "tests/compute/support.hpp"

extern "C" [[gnu::weak]] void openblas_set_num_threads(int count);
extern "C" [[gnu::weak]] int openblas_get_num_threads();

using namespace forebay;
using namespace forebay::compute;
using namespace forebay::testing;

TEST_CASE("the host's backend has one executor, which is always ready") {
  const Host host;
  const auto backend = make_host_backend(host.device);
  CHECK(backend->executors().size() == 1);
  CHECK(backend->limits().max_ops >= 64);
}

TEST_CASE("transfers and copies") {
  const Host host;
  const auto backend = make_host_backend(host.device);
  const Stream& stream = host.device.default_stream();
  const std::vector<std::int32_t> source{1, -2, 3};
  std::vector<float> target(3);
  backend->upload(source.data(), DType::i32, target.data(), DType::f32, 3, stream);
  CHECK(target == std::vector<float>{1, -2, 3});
  std::vector<float> back(3);
  backend->download(target.data(), back.data(), 12, stream);
  CHECK(back == target);
  backend->copy(back.data(), back.data() + 1, 8, stream);
  CHECK(back == std::vector<float>{1, 1, -2});
}

TEST_CASE("OpenBLAS gets its threads from the first product, not from a device that opens") {
  if (openblas_get_num_threads == nullptr || openblas_set_num_threads == nullptr) {
    std::puts("SKIPPED: this CBLAS is not OpenBLAS");
    return;
  }
  const int before = openblas_get_num_threads();
  Config config;
  config.host_threads = before == 1 ? 2 : 1;
  const Host host(config);
  CHECK(openblas_get_num_threads() == before);
  const Tensor one = host.f32({1}, {1, 1});
  CHECK(matmul(one, one).item() == 1);
  CHECK(openblas_get_num_threads() == static_cast<int>(config.host_threads));
  openblas_set_num_threads(before);
  CHECK(matmul(one, one).item() == 1);
  CHECK(openblas_get_num_threads() == before);
}

TEST_CASE("matrices beyond what CBLAS can count are refused") {
  const Host host;
  const auto backend = make_host_backend(host.device);
  float x = 0;
  const std::int64_t large = std::int64_t{1} << 31;
  const MatmulArgs args{
      .m = 1, .n = 1, .k = large, .a = &x, .a_stride = large, .b = &x, .b_stride = 1, .c = &x};
  CHECK(contains(message_of<ShapeError>([&] { backend->matmul(args, Stream()); }), "2147483648"));
}

TEST_CASE("a custom kernel runs its host form with its arguments") {
  const Host host;
  const auto backend = make_host_backend(host.device);
  const CustomKernel kernel{.name = "fill",
                            .cuda_source = "",
                            .block = 32,
                            .host = [](std::span<void* const> arguments, unsigned blocks) {
                              float* const out = *static_cast<float**>(arguments[0]);
                              const float value = *static_cast<float*>(arguments[1]);
                              for (unsigned i = 0; i < blocks; ++i) out[i] = value;
                            }};
  std::vector<float> out(4);
  float* data = out.data();
  float value = 2.5F;
  void* const arguments[] = {&data, &value};
  backend->run(kernel, arguments, 3, host.device.default_stream());
  CHECK(out == std::vector<float>{2.5F, 2.5F, 2.5F, 0});
}
