// The kernel cache together with its folder: real compilations, a driver that only loads.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <random>
#include <set>
#include <thread>

#include "forebay/pool/error.hpp"
#include "runtime/cache_entry.hpp"
#include "runtime/cuda/cuda_device.hpp"
#include "runtime/cuda/kernel_cache.hpp"
#include "tests/pool/effort.hpp"
#include "tests/runtime/child.hpp"
#include "tests/runtime/temporary_folder.hpp"
#include "tests/support/fake_driver.hpp"

using namespace forebay;
using cuda::CompileOptions;
using cuda::CudaDevice;
using driver::NvrtcApi;
using test::FakeDriver;
namespace fs = std::filesystem;

namespace {

/// A device as a new process has it: nothing is loaded, only the folder is there.
struct Fresh {
  explicit Fresh(const fs::path& folder, std::uint32_t entries = 4096)
      : device(CudaDevice::open(driver.api(), 0, config(folder, entries))) {}

  static Config config(const fs::path& folder, std::uint32_t entries) {
    Config config = test::fake_config();
    config.kernels.compiler_cache = false;
    config.kernels.cache.enabled = true;
    config.kernels.cache.folder = folder;
    config.kernels.cache.max_entries = entries;
    return config;
  }
  CUfunction get(const std::string& source, const std::string& entry = "store") const {
    return device->kernels().get(source, entry);
  }
  [[nodiscard]] const KernelCounters& counters() const { return device->counters().kernels; }

  FakeDriver driver;
  std::shared_ptr<CudaDevice> device;
};

std::string source(int number) {
  const std::string n = std::to_string(number);
  return "extern \"C\" __global__ void store(int* out) { *out = " + n +
         "; }\nextern \"C\" __global__ void add(int* out) { *out += " + n + "; }\n";
}

/// The same under an entry of its own, by which the fake driver knows one's code from another's.
std::string named_source(int number) {
  const std::string n = std::to_string(number);
  return "extern \"C\" __global__ void store_" + n + "(int* out) { *out = " + n + "; }\n";
}
CUfunction get_named(const Fresh& device, int number) {
  return device.get(named_source(number), "store_" + std::to_string(number));
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const auto& file : fs::directory_iterator(folder)) found.push_back(file.path());
  return found;
}

}  // namespace

TEST_CASE("the next process finds on disk what one compiled") {
  const test::TemporaryFolder top;
  const fs::path folder = top.path() / "kernels";
  {
    const Fresh first(folder);
    CHECK(first.get(source(1)) != nullptr);
    CHECK(first.get(source(1), "add") != nullptr);
    CHECK(first.counters().compiled == 2);
    CHECK(first.counters().disk_written == 2);
    CHECK(first.counters().disk_hits == 0);
    CHECK(first.counters().loaded == 2);
  }
  CHECK(entries(folder).size() == 2);
  const Fresh next(folder);
  const CUfunction found = next.get(source(1));
  CHECK(found != nullptr);
  CHECK(next.get(source(1), "add") != found);
  CHECK(next.get(source(1)) == found);
  CHECK(next.counters().compiled == 0);
  CHECK(next.counters().compile_us == 0);
  CHECK(next.counters().disk_hits == 2);
  CHECK(next.counters().memory_hits == 1);
  CHECK(next.counters().disk_written == 0);
  CHECK(next.driver.api()->cuFuncLoad.calls() == 2);
  next.device->close();
  CHECK(next.counters().loaded == 0);
}

TEST_CASE("processes at once compile the same kernels, and the next compiles none") {
  const test::TemporaryFolder top;
  constexpr int kKernels = 3;
  constexpr int kBase = 10;  // a child ends with this and the number of kernels that it compiled
  const auto use = [&] {
    const Fresh mine(top.path());
    for (int i = 0; i < kKernels; ++i) {
      if (mine.get(source(i)) == nullptr) return 1;
    }
    const KernelCounters& seen = mine.counters();
    if (seen.compiled + seen.disk_hits != kKernels || seen.disk_written != seen.compiled) return 2;
    return seen.disk_doubtful == 0 ? static_cast<int>(kBase + seen.compiled) : 3;
  };
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i) {
    children.push_back(::fork());
    REQUIRE(children.back() >= 0);
    if (children.back() == 0) {
      ::alarm(60);
      ::_exit(use());
    }
  }
  int compiled = 0;
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) >= kBase);
    compiled += WEXITSTATUS(status) - kBase;
  }
  CHECK(compiled >= kKernels);
  CHECK(entries(top.path()).size() == kKernels);
  CHECK(test::in_child(use).code == kBase);
}

TEST_CASE("many processes compile into one folder while others are killed in the middle of it") {
#ifdef __SANITIZE_THREAD__
  return;  // they share no memory
#endif
  const test::TemporaryFolder top;
  const fs::path shared = top.path() / "shared";
  // With a sanitizer's shadow each takes a second to start, and what it looks at is its own memory.
  constexpr unsigned kProcesses = pool::test::by_build(16U, 6U, 1U);
  constexpr int kKernels = 8;
  const auto start = [&](const auto& work) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child != 0) return child;
    ::alarm(60);
    int code = 99;
    try {
      code = work();
    } catch (...) {
    }
    ::_exit(code);
  };
  const auto survive = [&](unsigned seed) {
    std::array<int, kKernels> order{};
    for (int i = 0; i < kKernels; ++i) order[static_cast<std::size_t>(i)] = i;
    std::shuffle(order.begin(), order.end(), std::minstd_rand(seed));
    const Fresh mine(shared);
    for (const int number : order) {
      if (get_named(mine, number) == nullptr) return 1;
    }
    const KernelCounters& seen = mine.counters();
    if (seen.compiled + seen.disk_hits != kKernels || seen.disk_written != seen.compiled) return 2;
    return seen.disk_doubtful == 0 ? 0 : 3;
  };
  // Compiles and writes until it is killed, what nobody else wants; tells when it has begun.
  std::array<int, 2> begun{};
  REQUIRE(::pipe(begun.data()) == 0);
  const auto toil = [&](int first) {
    const Fresh mine(shared);
    for (int number = first;; ++number) {
      (void)get_named(mine, number);
      if (::write(begun[1], "", number == first ? 1 : 0) < 0) return 1;
    }
  };
  std::vector<pid_t> survivors;
  std::vector<pid_t> victims;
  for (unsigned i = 0; i < kProcesses; ++i) {
    survivors.push_back(start([&] { return survive(i + 1); }));
    if (i % 2 != 0) continue;
    victims.push_back(start([&] { return toil(static_cast<int>(1000 * (i + 1))); }));
  }
  ::close(begun[1]);
  for (std::size_t n = 0; n < victims.size(); ++n) {
    char one = 0;
    REQUIRE(::read(begun[0], &one, 1) == 1);
  }
  ::close(begun[0]);
  std::minstd_rand random(3);
  for (const pid_t victim : victims) {
    ::usleep(static_cast<useconds_t>(random() % 30'000));
    REQUIRE(::kill(victim, SIGKILL) == 0);
    int status = 0;
    REQUIRE(::waitpid(victim, &status, 0) == victim);
    CHECK(WIFSIGNALED(status));
  }
  for (const pid_t survivor : survivors) {
    int status = 0;
    REQUIRE(::waitpid(survivor, &status, 0) == survivor);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
  // Nothing but whole entries, what the victims wrote among them, and halves under other names.
  std::size_t whole = 0;
  for (const fs::path& file : entries(shared)) {
    const std::string name = file.filename();
    if (name.starts_with(".forebay-tmp-")) continue;
    const std::string bytes = test::read_file(file);
    const cache_entry::Parts parts = cache_entry::check(bytes);
    CHECK(parts.problem.empty());
    CHECK(cache_entry::name_of(parts.material) == name);
    ++whole;
  }
  CHECK(whole >= kKernels + victims.size());
  // Each is what a process of its own makes, bit for bit, and the next process compiles none.
  const auto compare = [&] {
    for (const char* folder : {"alone", "shared"}) {
      const Fresh mine(top.path() / folder);
      for (int number = 0; number < kKernels; ++number) {
        if (get_named(mine, number) == nullptr) return 1;
      }
      const KernelCounters& seen = mine.counters();
      const bool found = seen.disk_hits == kKernels && seen.compiled == 0;
      if (found != (mine.device->config().kernels.cache.folder == shared)) return 2;
      if (seen.disk_doubtful != 0) return 3;
    }
    for (const fs::path& file : entries(top.path() / "alone")) {
      if (test::read_file(file) != test::read_file(shared / file.filename())) return 4;
    }
    return 0;
  };
  CHECK(test::in_child(compare).code == 0);
}

TEST_CASE("whatever a compilation depends on is in its key") {
  const auto nvrtc = NvrtcApi::open();
  const CompileOptions options{"sm_90", true};
  std::set<std::string> materials;
  const auto add = [&](const NvrtcApi& api, const std::string& text, const char* entry,
                       const CompileOptions& with) {
    materials.insert(material_of(kernel_key(api, text, entry, with)));
  };
  add(*nvrtc, source(1), "store", options);
  add(*nvrtc, source(1), "store", options);
  add(*nvrtc, source(1), "store", {"sm_90", false});  // NVRTC's own cache changes no code
  CHECK(materials.size() == 1);
  add(*nvrtc, source(2), "store", options);
  add(*nvrtc, source(1), "add", options);
  add(*nvrtc, source(1), "store", {"sm_90a", true});
  add(*nvrtc, source(1), "store", {"sm_80", true});
  NvrtcApi other;  // of which a key needs no function
  other.version = nvrtc->version + 10;
  other.build = nvrtc->build;
  add(other, source(1), "store", options);
  other.version = 12030;  // knows fewer options
  add(other, source(1), "store", options);
  other.version = nvrtc->version;
  other.build += "1";
  add(other, source(1), "store", options);
  CHECK(materials.size() == 8);
  CHECK_FALSE(nvrtc->build.empty());
}

TEST_CASE("a damaged entry is compiled again and replaced") {
  const test::TemporaryFolder top;
  { (void)Fresh(top.path()).get(source(1)); }
  REQUIRE(entries(top.path()).size() == 1);
  const fs::path file = entries(top.path())[0];
  const std::string good = test::read_file(file);
  std::vector<std::string> damaged{"", good.substr(0, good.size() / 2), good + "x"};
  for (const std::size_t at :
       {std::size_t{9}, std::size_t{20}, std::size_t{70}, std::size_t{120}, good.size() - 1}) {
    damaged.push_back(good);
    damaged.back()[at] = static_cast<char>(damaged.back()[at] ^ 1);
  }
  for (const std::string& bad : damaged) {
    test::write_file(file, bad);
    const Fresh next(top.path());
    CHECK(next.get(source(1)) != nullptr);
    CHECK(next.counters().compiled == 1);
    CHECK(next.counters().disk_doubtful == 1);
    CHECK(next.counters().disk_hits == 0);
    CHECK(next.counters().disk_written == 1);
    CHECK(test::read_file(file) == good);  // the compiler gives the same code
  }
}

TEST_CASE("a right entry that the driver does not take is compiled again and replaced") {
  const test::TemporaryFolder top;
  { (void)Fresh(top.path()).get(source(1)); }
  const fs::path file = entries(top.path()).at(0);
  const std::string good = test::read_file(file);
  const std::string material(cache_entry::check(good).material);
  test::write_file(file, cache_entry::encode(material, std::string(1000, 'n')));
  const Fresh next(top.path());
  CHECK(next.get(source(1)) != nullptr);
  CHECK(next.counters().disk_doubtful == 1);
  CHECK(next.counters().compiled == 1);
  CHECK(test::read_file(file) == good);
}

TEST_CASE("a driver that can load nothing now says nothing about an entry") {
  const test::TemporaryFolder top;
  { (void)Fresh(top.path()).get(source(1)); }
  Fresh next(top.path());
  for (const char* call : {"cuModuleLoadData", "cuModuleGetFunction", "cuFuncLoad"}) {
    INFO(call);
    next.driver.fail(call, 1, CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_THROWS_AS(next.get(source(1)), DriverError);
    CHECK(next.driver.leaks().find("modules") == std::string::npos);
  }
  CHECK(next.get(source(1)) != nullptr);
  CHECK(next.counters().disk_hits == 1);
  CHECK(next.counters().disk_doubtful == 0);
  CHECK(next.counters().compiled == 0);
}

TEST_CASE("what does not compile or load is not kept") {
  const test::TemporaryFolder top;
  Fresh bench(top.path());
  CHECK_THROWS_AS(bench.get("extern \"C\" __global__ void store() { nothing(); }"), CompileError);
  CHECK_THROWS_AS(bench.get(source(1), "multiply"), DriverError);
  bench.driver.fail("cuModuleLoadData", 1, CUDA_ERROR_OUT_OF_MEMORY);
  CHECK_THROWS_AS(bench.get(source(1)), DriverError);
  CHECK(entries(top.path()).empty());
  CHECK(bench.counters().disk_written == 0);
}

TEST_CASE("kernels that the folder's limit drives out stay loaded, and are counted") {
  const test::TemporaryFolder top;
  const Fresh bench(top.path(), 16);
  const CUfunction first = bench.get(source(0));
  for (int i = 1; i < 20; ++i) (void)bench.get(source(i));
  CHECK(bench.counters().disk_written == 20);
  CHECK(bench.counters().disk_evicted == 20 - entries(top.path()).size());
  CHECK(entries(top.path()).size() <= 16);
  CHECK(bench.counters().loaded == 20);
  CHECK(bench.get(source(0)) == first);
  CHECK(bench.counters().compiled == 20);
}

TEST_CASE("threads that want one kernel from disk load it once") {
  const test::TemporaryFolder top;
  { (void)Fresh(top.path()).get(source(1)); }
  const Fresh next(top.path());
  std::array<CUfunction, 8> found{};
  std::vector<std::thread> threads;
  for (CUfunction& mine : found) threads.emplace_back([&] { mine = next.get(source(1)); });
  for (std::thread& thread : threads) thread.join();
  CHECK(std::set<CUfunction>(found.begin(), found.end()).size() == 1);
  CHECK(next.counters().disk_hits == 1);
  CHECK(next.counters().memory_hits == found.size() - 1);
}

TEST_CASE("without a cache on disk everything is compiled and nothing written") {
  const test::TemporaryFolder top;
  { (void)Fresh(top.path()).get(source(1)); }
  const FakeDriver driver;
  Config config = Fresh::config(top.path(), 16);
  config.kernels.cache.enabled = false;
  const auto device = CudaDevice::open(driver.api(), 0, config);
  (void)device->kernels().get(source(1), "store");
  (void)device->kernels().get(source(2), "store");
  CHECK(device->counters().kernels.compiled == 2);
  CHECK(device->counters().kernels.disk_hits == 0);
  CHECK(device->counters().kernels.disk_written == 0);
  CHECK(entries(top.path()).size() == 1);
}

TEST_CASE("a folder that cannot be used costs one line in the log of a process, and nothing else") {
  const test::TemporaryFolder top;
  test::write_file(top.path() / "file", "text");
  const test::Ended ended = test::in_child([&] {
    const FakeDriver driver;
    for (int round = 0; round < 2; ++round) {
      const auto device =
          CudaDevice::open(driver.api(), 0, Fresh::config(top.path() / "file" / "cache", 16));
      for (int i = 0; i < 2; ++i) {
        if (device->kernels().get(source(i), "store") == nullptr) return 1;
      }
      if (device->counters().kernels.compiled != 2) return 2;
    }
    return 0;
  });
  INFO(ended.err);
  CHECK(ended.code == 0);
  CHECK(std::count(ended.err.begin(), ended.err.end(), '\n') == 1);
  CHECK(ended.err.find("warning: kernels are not kept on disk: ") != std::string::npos);
  CHECK(ended.err.find("/kernels/cache/folder") != std::string::npos);
}
