// Ends as the word on its command line says; what happens in which order goes to standard error.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "forebay/runtime/log.hpp"
#include "forebay/runtime/runtime.hpp"

using namespace forebay;

// A child that is forked while another thread allocates cannot look for leaks at its end: it would
// wait for a lock of the leak checker that nobody lets go.
// Visible, or the sanitizer never sees it.
extern "C" [[gnu::visibility("default")]] const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

namespace {

void say(const std::string& text) {
  const std::string line = text + "\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, line.data(), line.size());
}

Config small() {
  Config config;
  config.pool.capacity = std::size_t{64} << 20;
  return config;
}

/// What a tensor does at its end.
struct Holder {
  std::shared_ptr<Device> device;
  void* block = nullptr;
  void take(Device& from) {
    device = from.shared_from_this();
    block = from.pool().allocate(1 << 20, from.default_stream().id());
  }
  ~Holder() {
    if (device == nullptr) return;
    say(device->closed() ? "holder: device closed" : "holder: device open");
    if (!device->closed()) device->pool().deallocate(block, device->default_stream().id());
  }
};

/// An extension with a thread, which its end waits for.
struct Worker {
  std::atomic<bool> stop{false};
  std::thread thread{[this] {
    while (!stop) std::this_thread::yield();
  }};
  ~Worker() {
    stop = true;
    thread.join();
    say("worker ended");
  }
};

/// An extension without a thread: thread checkers allow a forked child none.
struct Witness {
  ~Witness() { say("witness ended"); }
};

void give_worker(Device& device) {
  (void)device.extension<Worker>([](Device&) { return std::make_unique<Worker>(); });
}

/// Says something when the static objects made after it have gone.
struct LastWord {
  const char* text = nullptr;
  std::function<void()> act;
  ~LastWord() {
    if (act) act();
    if (text != nullptr) log(LogLevel::error, text);
  }
};

// Destroyed from the last to the first.
LastWord last_word;
Holder early_holder;
std::optional<Runtime> static_runtime;
Holder late_holder;

int static_runtime_ends() {
  static_runtime = Runtime::create(small());
  Device& host = static_runtime->device("host");
  give_worker(host);
  early_holder.take(host);
  late_holder.take(host);
  last_word.text = "last word";
  return 0;
}

int runtime_never_destroyed() {
  auto* leaked = new Runtime(Runtime::create(small()));
  give_worker(leaked->device("host"));
  early_holder.take(leaked->device("host"));
  last_word.act = [leaked] {
    say(leaked->closed() ? "runtime closed" : "runtime open");
    delete leaked;
  };
  return 0;
}

int holder_outlives_runtime() {
  Holder holder;
  {
    Runtime runtime = Runtime::create(small());
    holder.take(runtime.device("host"));
  }
  return 0;
}

int used_after_main() {
  static_runtime = Runtime::create(small());
  (void)static_runtime->device("host");
  static_runtime.reset();
  last_word.act = [] {
    Runtime late = Runtime::create(small());
    Holder holder;
    holder.take(late.device("host"));
    say("a runtime at exit works");
  };
  return 0;
}

int exit_in_thread() {
  static_runtime = Runtime::create(small());
  give_worker(static_runtime->device("host"));
  std::thread([] { std::exit(3); }).join();
  return 4;
}

int child_exits() {
  static_runtime = Runtime::create(small());
  give_worker(static_runtime->device("host"));
  late_holder.take(static_runtime->device("host"));
  const pid_t child = fork();
  if (child == 0) std::exit(7);  // runs every destructor of the child's copies
  int status = 0;
  waitpid(child, &status, 0);
  say("child: " + std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : -1));
  static_runtime->device("host").synchronize();
  return 0;
}

int child_drops_runtime() {
  std::optional<Runtime> runtime = Runtime::create(small());
  give_worker(runtime->device("host"));
  const pid_t child = fork();
  if (child == 0) {
    runtime.reset();
    Runtime mine = Runtime::create(small());
    (void)mine.device("host").extension<Witness>(
        [](Device&) { return std::make_unique<Witness>(); });
    std::exit(7);  // `mine` is closed by the end of the process
  }
  int status = 0;
  waitpid(child, &status, 0);
  say("child: " + std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : -1));
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::map<std::string, int (*)()> scenarios{
      {"static-runtime", static_runtime_ends},      {"never-destroyed", runtime_never_destroyed},
      {"holder-outlives", holder_outlives_runtime}, {"used-after-main", used_after_main},
      {"exit-in-thread", exit_in_thread},           {"child-exits", child_exits},
      {"child-drops", child_drops_runtime}};
  const auto found = scenarios.find(count == 2 ? words[1] : "");
  if (found == scenarios.end()) return 98;
  return found->second();
}
