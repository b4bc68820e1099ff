#include "forebay/runtime/runtime.hpp"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "runtime/runtime_impl.hpp"
#include "tests/runtime/child.hpp"
#include "tests/runtime/fake_device.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using test::FakeDevice;

namespace {

Config small_runtime() {
  Config config;
  config.pool.capacity = std::size_t{64} << 20;
  return config;
}

/// CUDA devices that a test lists itself.
struct FakePlatform {
  std::vector<DeviceReport> reports;
  int listed = 0;
  int opened = 0;
  std::vector<std::weak_ptr<Device>> devices = {};

  Runtime runtime(const Config& config = small_runtime()) {
    return Runtime::Impl::make(config, {[this] {
                                          ++listed;
                                          return reports;
                                        },
                                        [this](int index, const Config& c) {
                                          ++opened;
                                          auto device = std::make_shared<FakeDevice>(index, c);
                                          devices.push_back(device);
                                          return device;
                                        }});
  }
};

std::vector<DeviceReport> two_reports() {
  return {{"cuda:0", "Broken", false, "it fell off the bus"}, {"cuda:1", "Whole", true, "64 MiB"}};
}

std::string refusal(Runtime& runtime, std::string_view id) {
  try {
    (void)runtime.device(id);
    return "nothing was thrown";
  } catch (const DeviceError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("The host is there on every machine, and described") {
  Runtime runtime = Runtime::create(small_runtime());
  const auto reports = runtime.devices();
  REQUIRE_FALSE(reports.empty());
  CHECK(reports[0].id == "host");
  CHECK(reports[0].usable);
  CHECK_FALSE(reports[0].name.empty());
  Device& host = runtime.device("host");
  CHECK(host.id() == "host");
  CHECK(&runtime.device("host") == &host);
  CHECK(host.config().pool.capacity == small_runtime().pool.capacity);
}

TEST_CASE("auto and cuda mean the first device that can be used") {
  FakePlatform platform{two_reports()};
  Runtime runtime = platform.runtime();
  CHECK(platform.opened == 0);
  Device& device = runtime.device();
  CHECK(device.id() == "cuda:1");
  CHECK(&runtime.device("auto") == &device);
  CHECK(&runtime.device("cuda") == &device);
  CHECK(&runtime.device("cuda:1") == &device);
  CHECK(platform.opened == 1);
  const int listed = platform.listed;
  (void)runtime.device("auto");
  CHECK(platform.listed == listed);
  CHECK(runtime.device("host").id() == "host");
}

TEST_CASE("opening a device asks for no more than what is there") {
  FakePlatform platform{two_reports()};
  int described = 0;
  Platform with_more{[&] { return platform.reports; },
                     [](int index, const Config& c) -> std::shared_ptr<Device> {
                       return std::make_shared<FakeDevice>(index, c);
                     },
                     [&] {
                       ++described;
                       std::vector<DeviceReport> reports = two_reports();
                       reports[1].detail += ", with a compiler";
                       return reports;
                     }};
  Runtime runtime = Runtime::Impl::make(small_runtime(), with_more);
  CHECK(runtime.device("cuda").id() == "cuda:1");
  CHECK(refusal(runtime, "cuda:0") != "");
  CHECK(described == 0);
  CHECK(runtime.devices().back().detail == "64 MiB, with a compiler");
  CHECK(described == 1);
}

TEST_CASE("auto means the host where no CUDA device can be used") {
  FakePlatform platform{{{"cuda", "", false, "libcuda.so.1 could not be opened: no such file"}}};
  Runtime runtime = platform.runtime();
  CHECK(runtime.device().id() == "host");
  for (const char* id : {"cuda", "cuda:0"}) {
    const std::string line = refusal(runtime, id);
    INFO(line);
    CHECK(line.find("there is no device \"" + std::string(id) +
                    "\": libcuda.so.1 could not be opened: no such file; usable are: host (") == 0);
  }
  CHECK(platform.opened == 0);
}

TEST_CASE("A device that is not there or cannot be used is refused with what is there") {
  FakePlatform platform{two_reports()};
  Runtime runtime = platform.runtime();
  CHECK(
      refusal(runtime, "cuda:0")
          .find("the device \"cuda:0\" cannot be used: it fell off the bus; usable are: host (") ==
      0);
  for (const char* id : {"cuda:7", "cuda:99999999999", "cuda:99999999999999999999999999"}) {
    const std::string line = refusal(runtime, id);
    INFO(line);
    CHECK(line.find("there is no device \"" + std::string(id) + "\"") == 0);
    CHECK(line.find("; usable are: host (") != std::string::npos);
    CHECK(line.find(", cuda:1 (Whole)") != std::string::npos);
  }
  CHECK(platform.opened == 0);
}

TEST_CASE("A device of this machine's that cannot be used is refused with the machine's reason") {
  Runtime runtime = Runtime::create(small_runtime());
  const auto reports = runtime.devices();
  REQUIRE(reports.size() >= 2);
  for (std::size_t i = 1; i < reports.size(); ++i) {
    if (reports[i].usable) continue;
    INFO(reports[i].id);
    CHECK_FALSE(reports[i].detail.empty());
    CHECK(refusal(runtime, reports[i].id).find(reports[i].detail) != std::string::npos);
  }
  CHECK(refusal(runtime, "cuda:4095").find("usable are: host (") != std::string::npos);
}

TEST_CASE("What is no device's id is refused on one line without looking for devices") {
  FakePlatform platform{two_reports()};
  Runtime runtime = platform.runtime();
  for (const std::string id : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda: 1",
                               "CUDA:0", "host:0", "cuda:0\n", "\x01"}) {
    const std::string line = refusal(runtime, id);
    INFO(line);
    CHECK(line.find(" is no device; a device is \"auto\", \"host\", \"cuda\" or \"cuda:N\"") !=
          std::string::npos);
    CHECK(line.find('\n') == std::string::npos);
  }
  CHECK(refusal(runtime, std::string(100'000, 'x')).size() < 200);
  CHECK(platform.listed == 0);
}

TEST_CASE("A device that cannot be opened can be tried again") {
  int tries = 0;
  Runtime runtime = Runtime::Impl::make(
      small_runtime(),
      {two_reports, [&](int index, const Config& config) -> std::shared_ptr<Device> {
         if (++tries == 1) throw DeviceError("out of luck");
         return std::make_shared<FakeDevice>(index, config);
       }});
  CHECK(refusal(runtime, "cuda:1") == "out of luck");
  CHECK(runtime.device("cuda:1").id() == "cuda:1");
  CHECK(tries == 2);
}

TEST_CASE("Threads that come first together open a device once") {
  FakePlatform platform{two_reports()};
  Runtime runtime = platform.runtime();
  std::vector<std::thread> threads;
  std::vector<Device*> seen(8);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    threads.emplace_back([&, i] { seen[i] = &runtime.device(i % 2 == 0 ? "auto" : "cuda:1"); });
  }
  for (auto& thread : threads) thread.join();
  for (const Device* device : seen) CHECK(device == seen[0]);
  CHECK(platform.opened == 1);
}

TEST_CASE("A configuration out of range is refused before anything is opened") {
  Config config;
  config.fusion.max_ops = 0;
  CHECK_THROWS_AS(Runtime::create(config), ConfigError);
}

TEST_CASE("Closing ends every device, and every use after it throws") {
  FakePlatform platform{two_reports()};
  Runtime runtime = platform.runtime();
  Runtime copy = runtime;
  Device& cuda = runtime.device("cuda");
  Device& host = runtime.device("host");
  CHECK_FALSE(runtime.closed());
  copy.close();
  CHECK(runtime.closed());
  // The references stay valid.
  CHECK(cuda.closed());
  CHECK(host.closed());
  CHECK_THROWS_AS(host.require_open(), ClosedError);
  CHECK_THROWS_AS(host.create_stream(), ClosedError);
  CHECK_THROWS_AS(host.synchronize(), ClosedError);
  CHECK_THROWS_AS(runtime.device("host"), ClosedError);
  CHECK_THROWS_AS(runtime.devices(), ClosedError);
  CHECK(runtime.config().pool.capacity == small_runtime().pool.capacity);
  runtime.close();
  CHECK(static_cast<FakeDevice&>(cuda).ends == 1);
}

TEST_CASE("The last handle closes the devices; who holds one sees a closed shell") {
  FakePlatform platform{two_reports()};
  std::shared_ptr<Device> held;
  {
    Runtime runtime = platform.runtime();
    held = runtime.device("cuda").shared_from_this();
    const Runtime copy = runtime;
    CHECK_FALSE(held->closed());
  }
  CHECK(held->closed());
  CHECK_THROWS_AS(held->require_open(), ClosedError);
  CHECK(held->stats_json().find("forebay.stats/1") != std::string::npos);
  held.reset();
  CHECK(platform.devices.at(0).expired());
}

TEST_CASE("Two runtimes do not share devices") {
  Runtime first = Runtime::create(small_runtime());
  Runtime second = Runtime::create(small_runtime());
  CHECK(&first.device("host") != &second.device("host"));
  first.close();
  CHECK_NOTHROW(second.device("host").require_open());
}

TEST_CASE("A forked child gets an error and may create a runtime of its own") {
  Runtime runtime = Runtime::create(small_runtime());
  Device& host = runtime.device("host");
  const auto ended = test::in_child([&] {
    const auto refuses = [](auto&& call) {
      try {
        call();
        return false;
      } catch (const ClosedError& error) {
        return std::string(error.what()).find("before fork()") != std::string::npos;
      }
    };
    if (!runtime.closed()) return 1;
    if (!refuses([&] { (void)runtime.device("host"); })) return 2;
    if (!refuses([&] { (void)runtime.devices(); })) return 3;
    if (!refuses([&] { (void)host.create_stream(); })) return 4;
    if (!refuses([&] { host.default_stream().synchronize(); })) return 5;
    runtime.close();
    Runtime mine = Runtime::create(small_runtime());
    Device& my_host = mine.device("host");
    void* block = my_host.pool().allocate(4096, my_host.default_stream().id());
    if (block == nullptr) return 6;
    my_host.pool().deallocate(block, my_host.default_stream().id());
    mine.close();
    return 0;
  });
  INFO(ended.err);
  CHECK(ended.code == 0);
  CHECK_FALSE(runtime.closed());
  CHECK_NOTHROW(host.synchronize());
}

TEST_CASE("A forked child does not hang on a device that another thread is opening") {
  std::atomic<bool> inside{false};
  std::atomic<bool> go_on{false};
  Runtime runtime = Runtime::Impl::make(
      small_runtime(),
      {two_reports, [&](int index, const Config& config) -> std::shared_ptr<Device> {
         inside = true;
         while (!go_on) std::this_thread::yield();
         return std::make_shared<FakeDevice>(index, config);
       }});
  std::thread opener([&] { (void)runtime.device("cuda"); });
  while (!inside) std::this_thread::yield();
  const auto ended = test::in_child([&] {
    try {
      (void)runtime.device("host");
      return 1;
    } catch (const ClosedError&) {
    }
    runtime.close();
    Runtime mine = Runtime::create(small_runtime());
    return mine.device("host").closed() ? 2 : 0;
  });
  go_on = true;
  opener.join();
  CHECK(ended.code == 0);
}
