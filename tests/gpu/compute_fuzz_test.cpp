// Random programs on a device, by both tiers, against their element-by-element evaluation.
// FOREBAY_FUZZ_PROGRAMS says how many are interpreted, FOREBAY_FUZZ_KERNELS of how many the kernel
// is compiled too, FOREBAY_FUZZ_SEED where to begin. NVRTC keeps some seven cores busy in a
// process, whatever its threads: with more of them, several processes compile faster, each from a
// seed of its own.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/compute/cuda/sample_programs.hpp"
#include "tests/gpu/gpu_compute.hpp"

using namespace forebay;
using namespace forebay::test;

namespace {

unsigned number_of(const char* name, unsigned otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

// The program of a seed, interpreted and compiled too if so wanted. Empty, or what is wrong.
std::string run_seed(GpuCompute& gpu, unsigned seed, bool compiled) {
  const compute::Program program = long_random_program(seed);
  const ProgramCase data = random_case(program, seed);
  std::vector<CaseBuffer> results[2];
  std::string what;
  for (std::size_t tier = 0; tier < (compiled ? 2 : 1) && what.empty(); ++tier) {
    const std::string name = kTiers[1 - tier];  // which has the compiler first
    DeviceCase on_device(gpu, data, gpu.stream);
    what = on_device.try_run(program, *gpu.executor(name)) ? on_device.check() : "not ready";
    if (!what.empty()) what = name + ": " + what;
    results[tier] = on_device.buffers();
  }
  if (what.empty() && compiled && !data.same(results[0], results[1])) what = "the tiers differ";
  if (what.empty()) return what;
  return "seed " + std::to_string(seed) + " over " + to_string(data.binding().extents) + ": " +
         what + "\n" + program.key() + "\n";
}

}  // namespace

TEST_CASE("programs that a device compiler got wrong in an earlier form") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu;
  if (gpu.executor("cuda-interpreter") == nullptr) {
    std::printf("SKIPPED: built without nvcc\n");
    return;
  }
  // The negation of a boolean made a bf16.
  for (const unsigned seed : {10109U, 10232U, 11867U, 18998U})
    CHECK(run_seed(gpu, seed, true) == "");
}

TEST_CASE("random programs of up to 200 operations, interpreted and compiled") {
  FOREBAY_REQUIRE_DEVICE();
  const unsigned first = number_of("FOREBAY_FUZZ_SEED", 1);
  const unsigned count = number_of("FOREBAY_FUZZ_PROGRAMS", 500);
  const unsigned compiled = number_of("FOREBAY_FUZZ_KERNELS", 50);
  std::printf("seeds %u to %u, %u compiled\n", first, first + count - 1, compiled);
  if (GpuCompute().executor("cuda-interpreter") == nullptr) {
    std::printf("SKIPPED: built without nvcc\n");
    return;
  }
  // A device of its own for each thread: their calls are serialised.
  std::atomic<unsigned> next{0};
  std::atomic<unsigned> done{0};
  std::mutex mutex;
  std::string wrong;
  const auto work = [&] {
    GpuCompute gpu;
    for (unsigned n; (n = next.fetch_add(1)) < count;) {
      const std::string what = run_seed(gpu, first + n, n < compiled);
      ++done;
      if (what.empty()) continue;
      const std::lock_guard lock(mutex);
      wrong += what;
    }
  };
  std::vector<std::thread> threads;
  for (unsigned k = 0; k < std::clamp(std::thread::hardware_concurrency(), 1U, 16U); ++k) {
    threads.emplace_back(work);
  }
  for (std::thread& thread : threads) thread.join();
  INFO(wrong);
  CHECK(wrong.empty());
  CHECK(done == count);
}
