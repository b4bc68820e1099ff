#include "compute/cuda/transfer_ring.hpp"

#include <algorithm>
#include <numeric>

#include "forebay/pool/error.hpp"
#include "tests/compute/cuda/fake_cuda.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::test;
using compute::Backend;

namespace {

Config small_ring(std::uint32_t threads) {
  Config config = test::fake_config();
  config.upload.ring_bytes = std::size_t{2} << 20;
  config.upload.chunk_bytes = std::size_t{256} << 10;
  config.upload.threads = threads;
  return config;
}

struct RingSetting {
  explicit RingSetting(std::uint32_t threads = 4) : cuda(small_ring(threads)) {}
  FakeCuda cuda;
  cuda::TransferRing ring{*cuda.device};

  template <typename T>
  std::vector<T> read(const void* source, std::size_t count) {
    std::vector<T> got(count);
    ring.download(source, got.data(), count * sizeof(T), cuda.stream);
    return got;
  }
};

std::vector<std::int32_t> ramp(std::size_t count, std::int32_t from = -5) {
  std::vector<std::int32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), from);
  return numbers;
}

}  // namespace

TEST_CASE("transfers of every size and type, alone and by a team") {
  for (const std::uint32_t threads : {1U, 3U, 8U, 100U}) {
    RingSetting setting(threads);
    for (const std::size_t count :
         {std::size_t{0}, std::size_t{1}, std::size_t{65'535}, std::size_t{65'536},
          std::size_t{65'537}, std::size_t{1'000'003}, std::size_t{3'000'000}}) {
      INFO(threads << " threads, " << count << " elements");
      const std::vector<std::int32_t> whole = ramp(count);
      const std::vector<float> real(whole.begin(), whole.end());
      auto* const target = setting.cuda.allocate<std::int32_t>(count + 1);
      target[count] = 77;
      const auto upload = [&](const void* source, DType from, DType to) {
        const Backend::Upload one{source, from, target, to, count};
        setting.ring.upload({&one, 1}, setting.cuda.stream);
      };
      upload(whole.data(), DType::i32, DType::f32);
      CHECK(setting.read<float>(target, count) == real);
      upload(real.data(), DType::f32, DType::i32);
      CHECK(setting.read<std::int32_t>(target, count) == whole);
      upload(real.data(), DType::f32, DType::f32);
      CHECK(setting.read<float>(target, count) == real);
      CHECK(target[count] == 77);
    }
  }
}

TEST_CASE("many uploads at once, and their sources may change at once") {
  RingSetting setting;
  std::vector<std::vector<std::int32_t>> sources;
  std::vector<std::int32_t*> targets;
  std::vector<Backend::Upload> uploads;
  for (std::size_t i = 0; i < 50; ++i) {
    sources.push_back(ramp(i % 7 == 0 ? 0 : 1 + i * 4001 % 200'000, static_cast<std::int32_t>(i)));
    targets.push_back(setting.cuda.allocate<std::int32_t>(sources[i].size() + 1));
  }
  const auto wanted = sources;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    uploads.push_back({sources[i].data(), DType::i32, targets[i], DType::i32, sources[i].size()});
  }
  setting.cuda.driver.hold(static_cast<CUstream>(setting.cuda.stream.native()));
  setting.ring.upload(uploads, setting.cuda.stream);
  for (auto& source : sources) std::fill(source.begin(), source.end(), -1);
  setting.cuda.driver.let_go(static_cast<CUstream>(setting.cuda.stream.native()));
  for (std::size_t i = 0; i < sources.size(); ++i) {
    CHECK(setting.read<std::int32_t>(targets[i], wanted[i].size()) == wanted[i]);
  }
}

TEST_CASE("the ring is fixed: transfers take no memory and no events once it is there") {
  RingSetting setting;
  const auto numbers = ramp(2'000'000);
  auto* const target = setting.cuda.allocate<std::int32_t>(numbers.size());
  const Backend::Upload one{numbers.data(), DType::i32, target, DType::f32, numbers.size()};
  setting.ring.upload({&one, 1}, setting.cuda.stream);
  const auto pinned = setting.cuda.device->pinned_pool().stats();
  CHECK(pinned.allocations.live == 1);
  CHECK(pinned.requested.current == std::size_t{2} << 20);
  const std::uint64_t events = setting.cuda.device->counters().events;
  for (int i = 0; i < 10; ++i) setting.ring.upload({&one, 1}, setting.cuda.stream);
  CHECK(setting.cuda.device->pinned_pool().stats().allocations.total == pinned.allocations.total);
  CHECK(setting.cuda.device->counters().events == events);
}

TEST_CASE("an error in any thread reaches the caller, and the ring goes on") {
  for (const char* call : {"cuMemcpyHtoDAsync", "cuEventRecord"}) {
    RingSetting setting;
    const auto numbers = ramp(2'000'000);
    auto* const target = setting.cuda.allocate<std::int32_t>(numbers.size());
    const Backend::Upload one{numbers.data(), DType::i32, target, DType::i32, numbers.size()};
    setting.ring.prepare();
    for (const int nth : {1, 5, 20}) {
      setting.cuda.driver.fail(call, nth, CUDA_ERROR_LAUNCH_FAILED);
      CHECK_THROWS_AS(setting.ring.upload({&one, 1}, setting.cuda.stream), DriverError);
      setting.cuda.driver.heal();
    }
    setting.ring.upload({&one, 1}, setting.cuda.stream);
    CHECK(setting.read<std::int32_t>(target, numbers.size()) == numbers);
  }
}

TEST_CASE("a slot whose event was not recorded is not reused while its copy is under way") {
  Config config = small_ring(1);
  config.upload.ring_bytes = config.upload.chunk_bytes;  // one slot
  FakeCuda cuda(config);
  cuda::TransferRing ring(*cuda.device);
  ring.prepare();
  const auto first = ramp(1000);
  const auto second = ramp(1000, 7777);
  auto* const targets = cuda.allocate<std::int32_t>(2000);
  const Backend::Upload one{first.data(), DType::i32, targets, DType::i32, 1000};
  const Backend::Upload two{second.data(), DType::i32, targets + 1000, DType::i32, 1000};
  const auto queue = static_cast<CUstream>(cuda.stream.native());
  cuda.driver.hold(queue);
  cuda.driver.fail("cuEventRecord", 1, CUDA_ERROR_OUT_OF_MEMORY);
  CHECK_THROWS_AS(ring.upload({&one, 1}, cuda.stream), DriverError);
  cuda.driver.heal();
  ring.upload({&two, 1}, cuda.stream);
  cuda.driver.let_go(queue);
  std::vector<std::int32_t> got(2000);
  ring.download(targets, got.data(), 2000 * sizeof(std::int32_t), cuda.stream);
  CHECK(std::equal(first.begin(), first.end(), got.begin()));
  CHECK(std::equal(second.begin(), second.end(), got.begin() + 1000));
}

TEST_CASE("a start that failed half way is completed by the next transfer, and all is given back") {
  FakeCuda cuda(small_ring(2));
  const std::uint64_t events = cuda.device->counters().events;
  {
    cuda::TransferRing ring(*cuda.device);
    cuda.driver.fail("cuEventCreate", 3, CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_THROWS_AS(ring.prepare(), DriverError);
    cuda.driver.heal();
    ring.prepare();
    CHECK(cuda.device->counters().events == events + 8);
  }
  CHECK(cuda.device->counters().events == events);
  CHECK(cuda.device->pinned_pool().stats().allocations.live == 0);
}
