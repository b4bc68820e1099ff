// Leaves a CUDA device open as the word on its command line says.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "forebay/runtime/log.hpp"
#include "forebay/runtime/runtime.hpp"

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
  return config;
}

// Made before the driver is opened, destroyed after the driver's own exit handlers.
std::optional<Runtime> static_runtime;
std::optional<Stream> static_stream;
std::shared_ptr<Device> static_device;

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

}  // namespace

int main(int count, char** words) {
  const std::string scenario = count == 2 ? words[1] : "";
  if (scenario == "static") return static_objects_end();
  if (scenario == "leaked") return nothing_is_destroyed();
  if (scenario == "at-once") return exits_at_once();
  if (scenario == "child") return child_is_told();
  if (scenario == "again") return opened_again();
  return 98;
}
