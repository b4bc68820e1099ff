#include "runtime/cuda/kernel_cache.hpp"

#include <set>
#include <thread>
#include <vector>

#include "forebay/pool/error.hpp"
#include "runtime/cuda/cuda_device.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_driver.hpp"

using namespace forebay;
using cuda::CudaDevice;
using test::FakeDriver;

namespace {

struct KernelBench {
  FakeDriver driver;
  std::shared_ptr<CudaDevice> device = CudaDevice::open(driver.api(), 0, config());
  cuda::KernelCache& kernels = device->kernels();
  KernelCounters& counters = device->counters().kernels;

  static Config config() {
    Config config = test::fake_config();
    config.kernels.compiler_cache = false;
    return config;
  }
};

/// A kernel that nobody else compiles; two entries in one source.
std::string kernel_text(int number) {
  const std::string n = std::to_string(number);
  return "extern \"C\" __global__ void store(int* out) { *out = " + n +
         "; }\nextern \"C\" __global__ void add(int* out) { *out += " + n + "; }\n";
}

}  // namespace

TEST_CASE("a kernel is compiled once and found again") {
  KernelBench bench;
  const CUfunction first = bench.kernels.get(kernel_text(1), "store");
  CHECK(first != nullptr);
  CHECK(bench.counters.compiled == 1);
  CHECK(bench.counters.memory_hits == 0);
  CHECK(bench.counters.compile_us > 0);
  CHECK(bench.kernels.get(kernel_text(1), "store") == first);
  CHECK(bench.counters.compiled == 1);
  CHECK(bench.counters.memory_hits == 1);
  CHECK(bench.driver.api()->cuFuncLoad.calls() == 1);  // loaded before its first launch
}

TEST_CASE("other sources and other entries are other kernels") {
  KernelBench bench;
  const CUfunction one = bench.kernels.get(kernel_text(1), "store");
  const CUfunction two = bench.kernels.get(kernel_text(2), "store");
  const CUfunction entry = bench.kernels.get(kernel_text(1), "add");
  CHECK(std::set<CUfunction>{one, two, entry}.size() == 3);
  CHECK(bench.counters.compiled == 3);
}

TEST_CASE("what did not compile is not compiled again, and says why each time") {
  KernelBench bench;
  for (int round = 0; round < 3; ++round) {
    try {
      (void)bench.kernels.get("extern \"C\" __global__ void bad() { nothing(); }", "bad");
      FAIL("nonsense compiled");
    } catch (const CompileError& error) {
      CHECK(error.log().find("identifier \"nothing\" is undefined") != std::string::npos);
    }
  }
  CHECK(bench.counters.failed == 1);
  CHECK(bench.counters.compiled == 0);
  CHECK(bench.driver.api()->cuModuleLoadData.calls() == 0);
}

TEST_CASE("an entry that the source lacks is the driver's error, and leaves no module") {
  KernelBench bench;
  try {
    (void)bench.kernels.get(kernel_text(1), "multiply");
    FAIL("found what is not there");
  } catch (const DriverError& error) {
    CHECK(error.code() == CUDA_ERROR_NOT_FOUND);
    CHECK(std::string(error.what()).find("cuModuleGetFunction: ") == 0);
  }
  CHECK(bench.driver.leaks().find("modules") == std::string::npos);
}

TEST_CASE("a load that failed is tried again") {
  KernelBench bench;
  for (const char* call : {"cuModuleLoadData", "cuModuleGetFunction", "cuFuncLoad"}) {
    INFO(call);
    bench.driver.fail(call, 1, CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_THROWS_AS(bench.kernels.get(kernel_text(1), "store"), DriverError);
    CHECK(bench.driver.leaks().find("modules") == std::string::npos);
  }
  CHECK(bench.kernels.get(kernel_text(1), "store") != nullptr);
  CHECK(bench.counters.compiled == 1);
}

TEST_CASE("threads that want one kernel compile it once") {
  KernelBench bench;
  constexpr int kThreads = 4;
  std::vector<CUfunction> found(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      found[static_cast<std::size_t>(i)] = bench.kernels.get(kernel_text(1), "store");
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(bench.counters.compiled == 1);
  CHECK(bench.counters.memory_hits == kThreads - 1);
  CHECK(std::set<CUfunction>(found.begin(), found.end()).size() == 1);
}

// ThreadSanitizer does not see into NVRTC, and takes what its threads do for races.
#ifndef __SANITIZE_THREAD__
TEST_CASE("warming the compiler up counts as no kernel, and may be cut short") {
  FakeDriver driver;
  Config config = test::fake_config();
  config.kernels.prepare = true;
  CudaDevice::open(driver.api(), 0, config)->close();
  const auto device = CudaDevice::open(driver.api(), 0, config);
  CHECK(device->kernels().get(kernel_text(1), "store") != nullptr);
  CHECK(device->counters().kernels.compiled == 1);
  device->close();
  CHECK(driver.leaks() == "");
}
#endif

TEST_CASE("closing the device unloads its kernels, and none is given out after") {
  KernelBench bench;
  (void)bench.kernels.get(kernel_text(1), "store");
  CHECK(bench.driver.leaks().find("1 modules") != std::string::npos);
  bench.device->close();
  CHECK(bench.driver.leaks() == "");
  CHECK_THROWS_AS(bench.kernels.get(kernel_text(1), "store"), ClosedError);
}
