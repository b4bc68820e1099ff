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

}  // namespace

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
      const unsigned seed = first + n;
      const compute::Program program = long_random_program(seed);
      const ProgramCase data = random_case(program, seed);
      std::vector<CaseBuffer> results[2];
      std::string what;
      for (std::size_t tier = 0; tier < 2; ++tier) {
        // kTiers has the compiler first.
        if (tier == 1 && n >= compiled) break;
        DeviceCase on_device(gpu, data, gpu.stream);
        compute::Executor& executor = *gpu.executor(kTiers[1 - tier]);
        if (!on_device.try_run(program, executor)) what = "not ready";
        if (what.empty()) what = on_device.check();
        results[tier] = on_device.buffers();
      }
      if (what.empty() && n < compiled && !data.same(results[0], results[1])) {
        what = "the tiers differ";
      }
      ++done;
      if (what.empty()) continue;
      const std::lock_guard lock(mutex);
      wrong += "seed " + std::to_string(seed) + " over " + to_string(data.binding().extents) +
               ": " + what + "\n" + program.key() + "\n";
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
