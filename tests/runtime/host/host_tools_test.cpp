#include "runtime/host/host_tools.hpp"

#include <csignal>
#include <cstring>
#include <string>
#include <vector>

#include "pool/units.hpp"
#include "runtime/host/host_device.hpp"
#include "tests/runtime/child.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using host::HostDevice;
using pool::Misuse;

namespace {

using pool::kMiB;

Config debugging_host() {
  Config config;
  config.pool.capacity = 64 * kMiB;
  return config;
}

}  // namespace

TEST_CASE("memory of the host is filled and read") {
  host::HostTools tools;
  std::vector<unsigned char> memory(100, 1);
  const auto address = reinterpret_cast<pool::Address>(memory.data());
  CHECK(tools.fill(address + 10, 20, 7, 0));
  CHECK(memory[9] == 1);
  CHECK(memory[10] == 7);
  CHECK(memory[29] == 7);
  CHECK(memory[30] == 1);
  unsigned char two[2] = {};
  CHECK(tools.read(address + 29, 2, 0, two));
  CHECK(two[0] == 7);
  CHECK(two[1] == 1);
}

TEST_CASE("on the host a write behind a block is found at its free") {
  Config config = debugging_host();
  config.pool.debug_canary = 64;
  const auto device = HostDevice::open(config);
  const pool::StreamId stream = device->default_stream().id();
  for (const std::size_t bytes : {std::size_t{100}, 200'000 * std::size_t{1}, 3 * kMiB}) {
    auto* good = static_cast<char*>(device->pool().allocate(bytes, stream));
    auto* bad = static_cast<char*>(device->pool().allocate(bytes, stream));
    std::memset(good, 1, bytes);
    std::memset(bad, 1, bytes + 1);
    CHECK(device->pool().try_deallocate(good, stream) == Misuse::none);
    CHECK(device->pool().try_deallocate(bad, stream) == Misuse::buffer_overrun);
  }
}

TEST_CASE("on the host a write after free is found when the block leaves quarantine") {
  Config config = debugging_host();
  config.pool.debug_fill = true;
  config.pool.debug_quarantine = kMiB;
  const auto device = HostDevice::open(config);
  const pool::StreamId stream = device->default_stream().id();
  auto* block = static_cast<char*>(device->pool().allocate(1000, stream));
  CHECK(static_cast<unsigned char>(block[999]) == 0xFF);
  device->pool().deallocate(block, stream);
  CHECK(static_cast<unsigned char>(block[0]) == 0xEF);
  block[17] = 3;
  std::string line;
  device->pool().set_misuse_handler(
      [&](Misuse, const void*, std::string_view text) { line = text; });
  device->pool().trim();
  CHECK(line.find("byte 17 of its 1000 bytes was changed") != std::string::npos);
}

TEST_CASE("on the host the first access behind a guarded block ends the process") {
  const auto touch = [](std::size_t offset) {
    return test::in_child([offset] {
      // The sanitizers' handlers would turn it into a report of theirs.
      std::signal(SIGSEGV, SIG_DFL);
      Config config = debugging_host();
      config.pool.debug_guard_sample = 1;
      const auto device = HostDevice::open(config);
      auto* block =
          static_cast<volatile char*>(device->pool().allocate(1024, device->default_stream().id()));
      block[offset] = 1;
      return 0;
    });
  };
  CHECK(touch(1023).code == 0);
  CHECK(touch(1024).code == 128 + SIGSEGV);
}
