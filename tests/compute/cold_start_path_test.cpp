// The path of the cold-start workload, with numbers that a forgotten element would change.
#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::testing;

TEST_CASE("upload, add and sum of buffers that differ give exact sums") {
  Config config;
  config.host_threads = 2;
  const Host host(config);
  constexpr std::size_t kElements = 4 * 84 * 84;
  constexpr std::size_t kBuffers = 12;
  std::vector<std::vector<std::int32_t>> buffers(kBuffers, std::vector<std::int32_t>(kElements));
  std::vector<std::int64_t> expected(kBuffers, 0);
  for (std::size_t k = 0; k < kBuffers; ++k) {
    for (std::size_t j = 0; j < kElements; ++j) {
      buffers[k][j] = static_cast<std::int32_t>((31 * j + k) % 7);
      expected[k] += buffers[k][j] + 1;
    }
  }
  const std::vector<std::span<const std::int32_t>> spans(buffers.begin(), buffers.end());
  std::uint64_t programs = 0;
  for (int loop = 0; loop < 3; ++loop) {
    const auto launches = host.launches();
    std::vector<Tensor> tensors =
        from_host_many<std::int32_t>(spans, {1, 4, 84, 84}, host.device, DType::f32);
    for (Tensor& t : tensors) t = std::move(t) + 1.0;
    for (std::size_t k = 0; k < kBuffers; ++k) {
      REQUIRE(tensors[k].sum().item() == static_cast<float>(expected[k]));
    }
    // One launch for each tensor, however many are queued; the results are kept.
    CHECK(host.launches() == launches + kBuffers);
    for (std::size_t k = 0; k < kBuffers; ++k) {
      const auto elements = tensors[k].to_host<float>();
      bool equal = true;
      for (std::size_t j = 0; j < kElements; ++j) {
        equal = equal && elements[j] == static_cast<float>(buffers[k][j] + 1);
      }
      CHECK(equal);
    }
    CHECK(host.launches() == launches + kBuffers);
    if (loop == 0) programs = host.fusion().programs.load();
    CHECK(host.fusion().programs.load() == programs);
  }
}

TEST_CASE("the allocated bytes cover what is alive") {
  const Host host;
  const auto requested = [&] { return host.device.pool().stats().requested.current; };
  const auto allocated = [&] { return host.device.pool().stats().allocated.current; };
  REQUIRE(requested() == 0);
  constexpr std::int64_t kElements = 10'007;
  constexpr std::uint64_t kBytes = kElements * 4;
  std::vector<float> ones_on_host(kElements, 1.0F);
  std::vector<Tensor> alive;
  for (int k = 0; k < 20; ++k) {
    alive.push_back(from_host<float>(ones_on_host, {kElements}, host.device));
    CHECK(requested() == alive.size() * kBytes);
    CHECK(allocated() >= requested());
  }
  // An expression keeps its input until it is evaluated, and its result afterwards.
  for (Tensor& t : alive) t = std::move(t) + 1.0;
  CHECK(requested() == alive.size() * kBytes);
  for (const Tensor& t : alive) t.eval();
  CHECK(requested() == alive.size() * kBytes);
  const Tensor view = alive[0].transpose(0, 0);
  alive.erase(alive.begin() + 1, alive.end());
  alive.clear();
  CHECK(requested() == kBytes);  // the view shares it
  const float sum = view.sum().item();
  CHECK(sum == 2.0F * kElements);
}
