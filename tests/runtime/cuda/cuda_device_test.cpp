#include "runtime/cuda/cuda_device.hpp"

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "forebay/pool/error.hpp"
#include "forebay/runtime/log.hpp"
#include "pool/units.hpp"
#include "tests/runtime/child.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_driver.hpp"

using namespace forebay;
using cuda::CudaDevice;
using test::FakeDriver;

namespace {

using pool::kMiB;

std::string message_from(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("an opened device says what it is") {
  FakeDriver::Options two;
  two.devices = 2;
  FakeDriver driver(two);
  const auto device = CudaDevice::open(driver.api(), 1, test::fake_config());
  CHECK(device->id() == "cuda:1");
  CHECK(device->info().kind == DeviceKind::cuda);
  CHECK(device->info().name == "Fake device 1");
  CHECK(device->info().architecture == "sm_90");
  CHECK(device->info().multiprocessors == 132);
  CHECK(device->info().total_bytes == std::size_t{1} << 30);
  CHECK(device->free_bytes() == device->info().total_bytes);
  CHECK(device->info().context_s >= 0);
  CHECK(device->default_stream().native() != nullptr);
  CHECK(device->driver_calls() > 0);
  CHECK(device->config().pool.capacity == device->info().total_bytes);
  CHECK(device->config().pinned.capacity <= std::size_t{1} << 30);
}

TEST_CASE("a device that is not there is named with those that are") {
  FakeDriver driver;
  const auto open = [&](int index) {
    return message_from([&] { (void)CudaDevice::open(driver.api(), index, test::fake_config()); });
  };
  CHECK(open(7) == "there is no device cuda:7; this machine has cuda:0");
  CHECK(open(-1) == "there is no device cuda:-1; this machine has cuda:0");
  CHECK(driver.leaks() == "");
}

TEST_CASE("memory of the pools is the device's and pinned") {
  FakeDriver driver;
  const auto device = CudaDevice::open(driver.api(), 0, test::fake_config());
  const pool::StreamId stream = device->default_stream().id();
  void* block = device->pool().allocate(3 * kMiB, stream);
  void* pinned = device->pinned_pool().allocate(kMiB, stream);
  CHECK(driver.bytes_in_use() >= 3 * kMiB);
  const auto api = driver.api();
  unsigned kind = 0;
  CHECK(api->cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   reinterpret_cast<CUdeviceptr>(block)) == CUDA_SUCCESS);
  CHECK(kind == CU_MEMORYTYPE_DEVICE);
  CHECK(api->cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   reinterpret_cast<CUdeviceptr>(pinned)) == CUDA_SUCCESS);
  CHECK(kind == CU_MEMORYTYPE_HOST);
  CHECK(device->pool().validate() == "");
  CHECK(device->pinned_pool().validate() == "");
  device->pool().deallocate(block, stream);
  device->pinned_pool().deallocate(pinned, stream);
}

TEST_CASE("in passthrough each block is an allocation of its own") {
  FakeDriver driver;
  Config config = test::fake_config();
  config.pool.mode = pool::PoolMode::passthrough;
  const auto device = CudaDevice::open(driver.api(), 0, config);
  const pool::StreamId stream = device->default_stream().id();
  std::vector<void*> blocks;
  for (int i = 0; i < 10; ++i) {
    blocks.push_back(device->pool().allocate(1000, stream));
  }
  CHECK(driver.api()->cuMemAlloc.calls() == 10);
  CHECK(driver.api()->cuMemCreate.calls() == 0);
  for (void* block : blocks) {
    device->pool().deallocate(block, stream);
  }
  device->close();
  CHECK(driver.leaks() == "");
}

TEST_CASE("a pool of regions is made of the driver's plain allocations") {
  FakeDriver driver;
  Config config = test::fake_config();
  config.pool.backing = pool::PoolBacking::malloc;
  const auto device = CudaDevice::open(driver.api(), 0, config);
  const pool::StreamId stream = device->default_stream().id();
  void* block = device->pool().allocate(3 * kMiB, stream);
  CHECK(driver.api()->cuMemAlloc.calls() == 1);
  CHECK(driver.api()->cuMemCreate.calls() == 0);
  CHECK(driver.api()->cuMemAddressReserve.calls() == 0);
  device->pool().deallocate(block, stream);
  CHECK(device->pool().allocate(3 * kMiB, stream) == block);
  CHECK(driver.api()->cuMemAlloc.calls() == 1);
  device->pool().deallocate(block, stream);
  CHECK(device->pool().validate() == "");
  device->close();
  CHECK(driver.leaks() == "");
}

TEST_CASE("a device without virtual memory gets a pool of regions, and the log says so") {
  FakeDriver::Options options;
  options.virtual_memory = false;
  const test::Ended ended = test::in_child([&] {
    FakeDriver driver(options);
    (void)CudaDevice::open(driver.api(), 0, test::fake_config());
    return 0;
  });
  CHECK(ended.code == 0);
  CHECK(ended.err.find("forebay warning: cuda:0 has no virtual memory management: its pool is made "
                       "of regions, as with /pool/backing \"malloc\"\n") != std::string::npos);
  set_log_level(LogLevel::off);
  FakeDriver driver(options);
  const auto device = CudaDevice::open(driver.api(), 0, test::fake_config());
  CHECK(device->config().pool.backing == pool::PoolBacking::malloc);
  CHECK(device->config().to_json().find("\"malloc\"") != std::string::npos);
  const pool::StreamId stream = device->default_stream().id();
  device->pool().deallocate(device->pool().allocate(kMiB, stream), stream);
  CHECK(device->pool().validate() == "");
  Config exporting = test::fake_config();
  exporting.pool.export_as = pool::PoolExport::fd;
  CHECK(message_from([&] { (void)CudaDevice::open(driver.api(), 0, exporting); }) ==
        "cuda:0 has no virtual memory management, so its memory cannot be exported; /pool/export "
        "must be \"none\"");
  set_log_level(LogLevel::warn);
}

TEST_CASE("peers get access to a pool, whatever it is made of") {
  FakeDriver::Options two;
  two.devices = 2;
  FakeDriver driver(two);
  const auto peer = CudaDevice::open(driver.api(), 1, test::fake_config());
  const auto reads = [&](pool::PoolConfig pool_config) {
    Config config = test::fake_config();
    config.pool = pool_config;
    const std::string before = driver.leaks();
    const auto device = CudaDevice::open(driver.api(), 0, config);
    void* block = device->pool().allocate(3 * kMiB, device->default_stream().id());
    peer->make_current();
    char byte = 0;
    const CUresult result =
        driver.api()->cuMemcpyDtoHAsync(&byte, reinterpret_cast<CUdeviceptr>(block), 1,
                                        static_cast<CUstream>(peer->default_stream().native()));
    device->pool().deallocate(block, device->default_stream().id());
    device->close();
    CHECK(driver.leaks() == before);  // the peer's context was given back too
    return result == CUDA_SUCCESS;
  };
  pool::PoolConfig config;
  CHECK_FALSE(reads(config));
  config.peers = pool::PoolPeers::all;
  CHECK(reads(config));
  config.mode = pool::PoolMode::passthrough;
  CHECK(reads(config));
  config.mode = pool::PoolMode::pooled;
  config.backing = pool::PoolBacking::malloc;
  CHECK(reads(config));
  config.peers = pool::PoolPeers::none;
  CHECK_FALSE(reads(config));
  peer->close();
  CHECK(driver.leaks() == "");
}

TEST_CASE("a peer that cannot reach the memory is an error that leaves nothing behind") {
  FakeDriver::Options two;
  two.devices = 2;
  two.isolated = 0;
  FakeDriver driver(two);
  Config config = test::fake_config();
  config.pool.peers = pool::PoolPeers::all;
  CHECK(message_from([&] { (void)CudaDevice::open(driver.api(), 0, config); }) ==
        "/pool/peers is \"all\", but cuda:1 cannot reach the memory of cuda:0; \"reachable\" "
        "leaves it out");
  CHECK(driver.leaks() == "");
  config.pool.peers = pool::PoolPeers::reachable;
  CHECK_NOTHROW(CudaDevice::open(driver.api(), 0, config));
}

TEST_CASE("a stream lives as long as its last handle") {
  FakeDriver driver;
  const auto device = CudaDevice::open(driver.api(), 0, test::fake_config());
  std::set<pool::StreamId> ids = {device->default_stream().id()};
  for (int i = 0; i < 20; ++i) {
    Stream stream = device->create_stream();
    const Stream copy = stream;
    stream = Stream();
    void* block = device->pool().allocate(kMiB, copy.id());
    device->pool().deallocate(block, copy.id());
    copy.synchronize();
    ids.insert(copy.id());
  }
  CHECK(ids.size() == 21);
  CHECK(driver.api()->cuStreamDestroy.calls() == 20);
  CHECK(device->pool().validate() == "");
}

TEST_CASE("memory freed on a stream goes to another only after a dependency") {
  FakeDriver driver;
  Config config = test::fake_config();
  config.pool.capacity = 8 * kMiB;
  const auto device = CudaDevice::open(driver.api(), 0, config);
  const Stream a = device->create_stream();
  const Stream b = device->create_stream();
  driver.hold(static_cast<CUstream>(a.native()));
  void* first = device->pool().allocate(6 * kMiB, a.id());
  device->pool().deallocate(first, a.id());
  void* again = device->pool().allocate(6 * kMiB, a.id());
  CHECK(again == first);  // at once on its own stream
  device->pool().deallocate(again, a.id());
  // There is no other memory: the pool makes `b` or the host wait for `a`.
  const auto api = driver.api();
  const std::uint64_t before = api->cuStreamWaitEvent.calls() + api->cuEventSynchronize.calls();
  void* other = device->pool().allocate(6 * kMiB, b.id());
  CHECK(other != nullptr);
  CHECK(api->cuStreamWaitEvent.calls() + api->cuEventSynchronize.calls() > before);
  device->pool().deallocate(other, b.id());
  driver.let_go(static_cast<CUstream>(a.native()));
  CHECK(device->pool().validate() == "");
}

TEST_CASE("points that passed for one pool have not passed for the other") {
  FakeDriver driver;
  Config config = test::fake_config();
  config.pinned.capacity = 8 * kMiB;
  const auto device = CudaDevice::open(driver.api(), 0, config);
  const Stream a = device->create_stream();
  const Stream b = device->create_stream();
  // The device's pool is far ahead on both streams, and knows that its points have passed.
  for (int i = 0; i < 1000; ++i) {
    const Stream& stream = i % 2 == 0 ? a : b;
    device->pool().deallocate(device->pool().allocate(kMiB, stream.id()), stream.id());
  }
  driver.hold(static_cast<CUstream>(a.native()));
  void* first = device->pinned_pool().allocate(8 * kMiB, a.id());
  device->pinned_pool().deallocate(first, a.id());
  const auto api = driver.api();
  const std::uint64_t before = api->cuStreamWaitEvent.calls() + api->cuEventSynchronize.calls();
  void* other = device->pinned_pool().allocate(8 * kMiB, b.id());
  CHECK(other == first);
  CHECK(api->cuStreamWaitEvent.calls() + api->cuEventSynchronize.calls() > before);
  device->pinned_pool().deallocate(other, b.id());
  driver.let_go(static_cast<CUstream>(a.native()));
}

TEST_CASE("events do not pile up, whatever was allocated before") {
  FakeDriver driver;
  const auto device = CudaDevice::open(driver.api(), 0, test::fake_config());
  const Stream stream = device->create_stream();
  const auto churn = [&](int pairs) {
    for (int i = 0; i < pairs; ++i) {
      const std::size_t bytes = kMiB * static_cast<std::size_t>(1 + i % 7);
      void* block = device->pool().allocate(bytes, stream.id());
      device->pool().deallocate(block, stream.id());
    }
  };
  churn(2000);
  const std::uint64_t events = device->counters().events;
  churn(10000);
  CHECK(device->counters().events <= events + 1);
}

TEST_CASE("closing gives everything back, twice is fine, and later use says closed") {
  FakeDriver driver;
  const auto device = CudaDevice::open(driver.api(), 0, test::fake_config());
  const Stream stream = device->create_stream();
  void* block = device->pool().allocate(kMiB, stream.id());
  CHECK(block != nullptr);
  set_log_level(LogLevel::off);  // the leak is told
  device->close();
  device->close();
  set_log_level(LogLevel::warn);
  CHECK(driver.leaks() == "");
  CHECK(driver.releases_while_mapped() == 0);
  CHECK_THROWS_AS(device->create_stream(), ClosedError);
  CHECK_THROWS_AS(device->synchronize(), ClosedError);
  CHECK_THROWS_AS(device->make_current(), ClosedError);
  CHECK_THROWS_AS(stream.synchronize(), ClosedError);
  CHECK(device->free_bytes() == 0);
}

TEST_CASE("handles of streams may outlive their device") {
  FakeDriver driver;
  auto device = CudaDevice::open(driver.api(), 0, test::fake_config());
  const Stream stream = device->create_stream();
  device.reset();
  CHECK(driver.leaks() == "");
  CHECK_THROWS_AS(stream.synchronize(), ClosedError);
}

TEST_CASE("every call that opening makes may fail, and nothing is left behind") {
  const std::uint64_t calls = [] {
    FakeDriver driver;
    const std::uint64_t before = driver.api()->calls();
    const auto device = CudaDevice::open(driver.api(), 0, test::fake_config());
    return driver.api()->calls() - before;
  }();
  CHECK(calls > 10);
  int refused = 0;
  for (std::uint64_t nth = 1; nth <= calls; ++nth) {
    INFO("call " << nth);
    FakeDriver driver;
    driver.fail("", static_cast<int>(nth), CUDA_ERROR_UNKNOWN);
    try {
      const auto device = CudaDevice::open(driver.api(), 0, test::fake_config());
      void* block = device->pool().allocate(kMiB, device->default_stream().id());
      device->pool().deallocate(block, device->default_stream().id());
    } catch (const Error&) {
      ++refused;
    }
    driver.heal();
    CHECK(driver.leaks() == "");
  }
  CHECK(refused > 10);
}

TEST_CASE("a device whose driver has gone closes without a word and without a hang") {
  FakeDriver driver;
  const auto device = CudaDevice::open(driver.api(), 0, test::fake_config());
  const Stream stream = device->create_stream();
  void* block = device->pool().allocate(kMiB, stream.id());
  CHECK(block != nullptr);
  set_log_level(LogLevel::off);
  driver.deinitialise();
  device->close();
  set_log_level(LogLevel::warn);
  CHECK(device->closed());
}

TEST_CASE("a forked child calls nothing and is told so") {
  FakeDriver driver;
  const auto device = CudaDevice::open(driver.api(), 0, test::fake_config());
  const test::Ended ended = test::in_child([&] {
    const std::uint64_t before = driver.api()->calls();
    try {
      device->synchronize();
      return 1;
    } catch (const ClosedError&) {
    }
    device->close();
    return driver.api()->calls() == before ? 0 : 2;
  });
  CHECK(ended.code == 0);
  device->synchronize();
}

TEST_CASE("threads open streams, allocate and free at once") {
  FakeDriver driver;
  const auto device = CudaDevice::open(driver.api(), 0, test::fake_config());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        const Stream stream = device->create_stream();
        for (int i = 1; i < 20; ++i) {
          void* block = device->pool().allocate(static_cast<std::size_t>(i) * 10000, stream.id());
          device->pool().deallocate(block, stream.id());
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(device->pool().validate() == "");
  device->close();
  CHECK(driver.leaks() == "");
}
