// Leaves a CUDA device open as the word on its command line says.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "forebay/runtime/log.hpp"
#include "forebay/runtime/runtime.hpp"
#include "runtime/cuda/cuda_device.hpp"
#include "runtime/cuda/kernel_cache.hpp"

using namespace forebay;

// A child that is forked while another thread allocates cannot look for leaks at its end: it would
// wait for a lock of the leak checker that nobody lets go.
// Visible, or the sanitizer never sees it.
extern "C" [[gnu::visibility("default")]] const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

namespace {

/// ThreadSanitizer does not see into NVRTC, and takes what its threads do for races.
Config config() {
  Config config;
#ifdef __SANITIZE_THREAD__
  config.kernels.prepare = false;
#endif
  config.kernels.cache.enabled = false;  // what is compiled here, is compiled
  return config;
}

// Made before the driver is opened, destroyed after the driver's own exit handlers.
std::optional<Runtime> static_runtime;
std::optional<Stream> static_stream;
std::shared_ptr<Device> static_device;
std::shared_ptr<cuda::BackgroundKernel> static_kernel;

void use(Device& device) {
  static_stream = device.create_stream();
  static_device = device.shared_from_this();
  void* block = device.pool().allocate(10 << 20, static_stream->id());
  device.pool().deallocate(block, static_stream->id());
}

int static_objects_end() {
  static_runtime = Runtime::create(config());
  use(static_runtime->device("cuda"));
  return 0;
}

int nothing_is_destroyed() {
  static Runtime* const leaked = new Runtime(Runtime::create(config()));  // reachable to the end
  use(leaked->device("cuda"));
  return 0;
}

int exits_at_once() {
  static_runtime = Runtime::create(config());
  use(static_runtime->device("cuda"));
  _exit(0);
}

/// 0 if the child is told why it cannot use the device, and the parent still can.
int child_is_told() {
  static_runtime = Runtime::create(config());
  use(static_runtime->device("cuda"));
  const pid_t child = fork();
  if (child == 0) {
    try {
      Runtime mine = Runtime::create(config());
      (void)mine.device("cuda");
      _exit(2);
    } catch (const DeviceError& error) {
      _exit(std::strstr(error.what(), "forked") != nullptr ? 0 : 3);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  static_runtime->device("cuda").synchronize();
  return WIFEXITED(status) ? WEXITSTATUS(status) : 4;
}

/// A device may be opened again after its runtime has closed.
int opened_again() {
  for (int round = 0; round < 3; ++round) {
    Runtime runtime = Runtime::create(config());
    use(runtime.device("cuda"));
    runtime.close();
  }
  return 0;
}

/// A kernel that takes the compiler a while.
std::string long_source() {
  std::string source =
      "extern \"C\" __global__ void slow(float* out) {\n  float x = out[threadIdx.x];\n";
  for (int i = 0; i < 4000; ++i) {
    source += "  x = x * x + " + std::to_string(i) + ".5f; if (x > 3) x = out[" +
              std::to_string(i) + "];\n";
  }
  return source + "  out[threadIdx.x] = x;\n}\n";
}

/// Returns once a thread of the device's queue is making the kernel of `source`.
void make_in_background(std::function<std::string()> source) {
  static std::atomic<bool> begun{false};
  auto& device = dynamic_cast<cuda::CudaDevice&>(*static_device);
  static_kernel = device.kernels().background(
      [source = std::move(source)] {
        begun = true;
        return source();
      },
      "slow");
  device.kernels().want(static_kernel);
  while (!begun) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
}

/// The end of the process, while NVRTC is at work for the first time.
int ends_while_compiling() {
  static_runtime = Runtime::create(config());
  use(static_runtime->device("cuda"));
  make_in_background(long_source);
  return 0;
}

/// The same by a device that closes first, and by exit on another thread after a first compilation.
int closes_while_compiling() {
  Runtime runtime = Runtime::create(config());
  use(runtime.device("cuda"));
  make_in_background(long_source);
  static_stream.reset();
  runtime.close();
  return 0;
}

int thread_exits_while_compiling() {
  static_runtime = Runtime::create(config());
  use(static_runtime->device("cuda"));
  auto& device = dynamic_cast<cuda::CudaDevice&>(*static_device);
  const auto first = device.kernels().background(
      [] { return std::string("extern \"C\" __global__ void first() {}"); }, "first");
  device.kernels().want(first);
  if (!device.kernels().settle(std::chrono::seconds(60)) || first->function() == nullptr) return 5;
  make_in_background(long_source);
  std::thread([] { std::exit(0); }).join();
  return 6;
}

/// A compilation that never ends.
int ends_while_hanging() {
  static_runtime = Runtime::create(config());
  use(static_runtime->device("cuda"));
  make_in_background([]() -> std::string {
    for (;;) ::pause();
  });
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::string scenario = count == 2 ? words[1] : "";
  if (scenario == "static") return static_objects_end();
  if (scenario == "leaked") return nothing_is_destroyed();
  if (scenario == "at-once") return exits_at_once();
  if (scenario == "child") return child_is_told();
  if (scenario == "again") return opened_again();
  if (scenario == "compiling") return ends_while_compiling();
  if (scenario == "compiling-close") return closes_while_compiling();
  if (scenario == "compiling-exit") return thread_exits_while_compiling();
  if (scenario == "hanging") return ends_while_hanging();
  return 98;
}
