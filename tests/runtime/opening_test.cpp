#include "runtime/opening.hpp"

#include <string>
#include <vector>

#include "runtime/runtime_impl.hpp"
#include "tests/runtime/fake_device.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using test::FakeDevice;

namespace {

// What this test's own functions are told, while one of its cases runs; they stay registered.
bool listening = false;
bool failing = false;
std::vector<std::string> told;

void hear(const std::string& who, const Device& device) {
  if (listening) told.push_back(who + " of " + device.id());
}

void register_once() {
  static const bool registered = [] {
    when_opened([](Device& device) {
      hear("first", device);
      if (failing) throw DeviceError("no room for what the first one keeps");
    });
    when_opened([](Device& device) { hear("second", device); });
    return true;
  }();
  (void)registered;
  told.clear();
}

struct Listening {
  Listening() {
    register_once();
    listening = true;
  }
  ~Listening() { listening = failing = false; }
};

/// One CUDA device, whose shells are kept.
struct Machine {
  std::vector<std::shared_ptr<FakeDevice>> devices;
  Runtime runtime = Runtime::Impl::make(
      Config(), {[] {
                   return std::vector<DeviceReport>{{"cuda:0", "Whole", true, "64 MiB"}};
                 },
                 [this](int index, const Config& config) {
                   devices.push_back(std::make_shared<FakeDevice>(index, config));
                   return devices.back();
                 }});
};

}  // namespace

TEST_CASE("Who asked for it is told of each device that is opened, once, the latest first") {
  const Listening here;
  Machine machine;
  CHECK(told.empty());
  (void)machine.runtime.device("cuda:0");
  CHECK(told == std::vector<std::string>{"second of cuda:0", "first of cuda:0"});
  (void)machine.runtime.device("cuda:0");
  (void)machine.runtime.device("auto");
  CHECK(told.size() == 2);
  (void)machine.runtime.device("host");
  CHECK(told.size() == 4);
  CHECK(told.back() == "first of host");
}

TEST_CASE("A device is not opened where one that is told of it fails") {
  const Listening here;
  Machine machine;
  failing = true;
  CHECK_THROWS_AS(machine.runtime.device("cuda:0"), DeviceError);
  REQUIRE(machine.devices.size() == 1);
  CHECK(machine.devices[0]->closed());
  failing = false;
  CHECK(machine.runtime.device("cuda:0").id() == "cuda:0");
  CHECK(machine.devices.size() == 2);
  CHECK_FALSE(machine.devices[1]->closed());
}
