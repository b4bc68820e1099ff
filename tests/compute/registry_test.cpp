#include "compute/registry.hpp"

#include "tests/compute/test_backend.hpp"
#include "tests/support/forked.hpp"

using namespace forebay;
using namespace forebay::compute;
using namespace forebay::testing;

TEST_CASE("a backend from outside the library computes") {
  const ScriptedHost scripted;
  const Host& host = scripted.host;
  const Tensor a = host.f32({1, 2, 3});
  const Tensor b = exp(a * 0.0) + a;
  CHECK(b.to_host<float>() == std::vector<float>{2, 3, 4});
  CHECK(ScriptedHost::script.second_runs == 1);
}

TEST_CASE("a device keeps its backend, later devices get the registered one") {
  const Host before;
  Backend* const kept = &backend_of(before.device);
  const BackendFactory original = register_backend(
      DeviceKind::host, [](Device& /*device*/) { return std::unique_ptr<Backend>(); });
  REQUIRE(original != nullptr);
  CHECK(&backend_of(before.device) == kept);
  const Host after;  // for its memory it can be had
  pool::Pool memory = after.device.pool();
  const pool::StreamId stream = after.device.default_stream().id();
  memory.deallocate(memory.allocate(100, stream), stream);
  const std::string message = message_of<DeviceError>([&] { (void)backend_of(after.device); });
  register_backend(DeviceKind::host, original);
  CHECK(contains(message, "host"));
  // Nothing was kept of the failure.
  CHECK_NOTHROW(backend_of(after.device));
  CHECK(backend_of(after.device).executors().back()->name() == "host");
}

TEST_CASE("a device whose backend cannot be made says so when it is opened") {
  const auto ended = test::in_child([] {
    register_backend(DeviceKind::host, [](Device& /*device*/) -> std::unique_ptr<Backend> {
      throw OutOfMemory("no room", "for kernels");
    });
    const Host host;
    return 0;
  });
  CHECK(ended.code == 0);
  CHECK(contains(ended.err,
                 "forebay warning: host is opened, but its first tensor has to try again"));
  CHECK(contains(ended.err, "no room"));
}

TEST_CASE("a device has its backend from its opening on, before any tensor") {
  static int made = 0;
  static BackendFactory original = nullptr;
  made = 0;
  original = register_backend(DeviceKind::host, [](Device& device) {
    ++made;
    return original(device);
  });
  {
    const Host host;
    CHECK(made == 1);
    CHECK(host.f32({1, 2}).sum().item() == 3);
    CHECK(made == 1);
  }
  register_backend(DeviceKind::host, original);
}

TEST_CASE("a kind of device without a factory is an error") {
  const BackendFactory original = register_backend(DeviceKind::host, nullptr);
  const Host host;
  const std::string message = message_of<DeviceError>([&] { (void)zeros({2}, host.device); });
  CHECK(register_backend(DeviceKind::host, original) == nullptr);
  CHECK(contains(message, "no compute backend is registered for host"));
}

TEST_CASE("tensors may be used while the backend is locked") {
  const Host host;
  const auto lock = lock_backend(host.device);
  CHECK(lock.owns_lock());
  CHECK((host.f32({1, 2}) + 1.0).sum().item() == 5);
}
