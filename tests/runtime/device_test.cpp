#include "forebay/runtime/device.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/runtime/child.hpp"
#include "tests/runtime/fake_device.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using test::FakeDevice;

namespace {

struct First {
  std::string& story;
  ~First() { story += "first "; }
};
struct Second {
  std::string& story;
  ~Second() { story += "second "; }
};

}  // namespace

TEST_CASE("A device has an id that says its kind and number") {
  CHECK(FakeDevice(3).id() == "cuda:3");
}

TEST_CASE("An extension is made once and ends with the device, the latest first") {
  std::string story;
  auto device = std::make_shared<FakeDevice>();
  int made = 0;
  const auto make_first = [&](Device& owner) {
    ++made;
    CHECK(&owner == device.get());
    return std::unique_ptr<First>(new First{story});
  };
  First& first = device->extension<First>(make_first);
  // An extension may ask for another one while it is made.
  (void)device->extension<Second>([&](Device& owner) {
    CHECK(&owner.extension<First>(make_first) == &first);
    return std::unique_ptr<Second>(new Second{story});
  });
  CHECK(&device->extension<First>(make_first) == &first);
  CHECK(made == 1);
  CHECK(story.empty());
  device->close();
  CHECK(story == "second first ");
  device->close();
  CHECK(story == "second first ");
  CHECK(device->ends == 1);
  CHECK(device->waits == 1);
}

TEST_CASE("An extension that cannot be made leaves none behind") {
  auto device = std::make_shared<FakeDevice>();
  CHECK_THROWS_AS(
      device->extension<int>([](Device&) -> std::unique_ptr<int> { throw DeviceError("no"); }),
      DeviceError);
  CHECK(device->extension<int>([](Device&) { return std::make_unique<int>(5); }) == 5);
}

TEST_CASE("Threads that come first together get the same extension") {
  auto device = std::make_shared<FakeDevice>();
  std::atomic<int> made{0};
  std::vector<std::thread> threads;
  std::vector<int*> seen(8);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    threads.emplace_back([&, i] {
      seen[i] = &device->extension<int>([&](Device&) {
        ++made;
        return std::make_unique<int>(1);
      });
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(made == 1);
  for (const int* one : seen) CHECK(one == seen[0]);
}

TEST_CASE("After close every use throws, and says which device") {
  auto device = std::make_shared<FakeDevice>(2);
  CHECK_FALSE(device->closed());
  CHECK_NOTHROW(device->require_open());
  device->close();
  CHECK(device->closed());
  try {
    device->require_open();
    FAIL("nothing was thrown");
  } catch (const ClosedError& error) {
    CHECK(std::string(error.what()) == "the device cuda:2 was closed");
  }
  CHECK_THROWS_AS(device->extension<int>([](Device&) { return std::make_unique<int>(0); }),
                  ClosedError);
  CHECK(device->pool().closed());
  CHECK(device->pinned_pool().closed());
}

TEST_CASE("While extensions end they may give memory back, but start nothing new") {
  struct Holder {
    Device& device;
    void* block;
    bool refused = false;
    bool* seen_refused;
    ~Holder() {
      if (!device.closed()) device.pool().deallocate(block, device.default_stream().id(), 1000);
      try {
        device.require_open();
      } catch (const ClosedError&) {
        *seen_refused = true;
      }
    }
  };
  bool refused = false;
  auto device = std::make_shared<FakeDevice>();
  (void)device->extension<Holder>([&](Device& owner) {
    void* block = owner.pool().allocate(1000, owner.default_stream().id());
    return std::unique_ptr<Holder>(new Holder{owner, block, false, &refused});
  });
  device->close();
  CHECK(refused);
  // The statistics of the end were taken after the extension had given its block back.
  CHECK(device->stats_json().find("\"live\": 0") != std::string::npos);
}

TEST_CASE("A worker of an extension that ends may ask for an extension without hanging") {
  struct Worker {
    Device& device;
    bool& refused;
    ~Worker() {
      std::thread([this] {
        try {
          (void)device.extension<int>([](Device&) { return std::make_unique<int>(0); });
        } catch (const ClosedError&) {
          refused = true;
        }
      }).join();
    }
  };
  bool refused = false;
  auto device = std::make_shared<FakeDevice>();
  (void)device->extension<Worker>([&](Device& owner) {
    return std::unique_ptr<Worker>(new Worker{owner, refused});
  });
  device->close();
  CHECK(refused);
}

TEST_CASE("A device that cannot be waited for still ends") {
  const auto ended = test::in_child([] {
    FakeDevice device;
    device.fails_to_wait = true;
    device.close();
    return device.ends == 1 && device.closed() ? 0 : 1;
  });
  CHECK(ended.code == 0);
  CHECK(ended.err.find("while closing: the device fell off the bus") != std::string::npos);
}

TEST_CASE("In a forked child a device is closed, and closing it does nothing") {
  auto device = std::make_shared<FakeDevice>();
  std::string story;
  (void)device->extension<First>([&](Device&) { return std::unique_ptr<First>(new First{story}); });
  const auto ended = test::in_child([&] {
    if (!device->closed()) return 1;
    try {
      device->require_open();
      return 2;
    } catch (const ClosedError& error) {
      if (std::string(error.what()).find("before fork()") == std::string::npos) return 3;
    }
    try {
      (void)device->stats_json();
      return 4;
    } catch (const ClosedError&) {
    }
    device->close();
    return device->ends == 0 && story.empty() ? 0 : 5;
  });
  CHECK(ended.code == 0);
  CHECK(story.empty());
  CHECK_FALSE(device->closed());
  CHECK_NOTHROW(device->require_open());
}

TEST_CASE("A forked child does not hang on a lock that another thread held") {
  auto device = std::make_shared<FakeDevice>();
  std::atomic<bool> inside{false};
  std::atomic<bool> go_on{false};
  std::thread maker([&] {
    (void)device->extension<int>([&](Device&) {
      inside = true;
      while (!go_on) std::this_thread::yield();
      return std::make_unique<int>(1);
    });
  });
  while (!inside) std::this_thread::yield();
  const auto ended = test::in_child([&] {
    try {
      (void)device->extension<int>([](Device&) { return std::make_unique<int>(2); });
      return 1;
    } catch (const ClosedError&) {
      device->close();
      return 0;
    }
  });
  go_on = true;
  maker.join();
  CHECK(ended.code == 0);
}
