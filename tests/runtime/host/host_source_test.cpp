#include "runtime/host/host_source.hpp"

#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include "forebay/pool/pool.hpp"
#include "tests/runtime/child.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using host::HostSource;
using pool::Address;
using pool::Handle;
using pool::Outcome;
using pool::SourceResult;

namespace {

constexpr std::size_t kHostGranule = HostSource::kGranularity;

bool wrong(SourceResult result) {
  return result.outcome == Outcome::failed && result.code == EINVAL;
}

char* bytes_at(Address address) { return reinterpret_cast<char*>(address); }

/// A source with a reserved range and handles of one granule.
struct Fixture {
  explicit Fixture(std::size_t granules = 8) : source(granules * kHostGranule) {
    REQUIRE(source.reserve(4 * kHostGranule, &range).ok());
  }
  Handle handle(std::size_t granules = 1) {
    Handle made = 0;
    REQUIRE(source.create(granules * kHostGranule, &made).ok());
    return made;
  }
  void open(Address at, Handle what, std::size_t granules = 1) {
    REQUIRE(source.map(at, granules * kHostGranule, what).ok());
    REQUIRE(source.set_access(at, granules * kHostGranule).ok());
  }
  HostSource source;
  Address range = 0;
};

}  // namespace

TEST_CASE("The host's source says what it can do") {
  const HostSource source(5 * kHostGranule + 1);
  CHECK(source.traits().name == "host");
  CHECK(source.traits().virtual_memory);
  CHECK(source.traits().granularity == kHostGranule);
  CHECK(source.traits().total == 5 * kHostGranule);
  CHECK(source.free_bytes() == 5 * kHostGranule);
}

TEST_CASE("A reserved range is aligned and may be far larger than memory") {
  HostSource source(kHostGranule);
  Address range = 0;
  constexpr std::size_t kBytes = std::size_t{64} << 30;
  REQUIRE(source.reserve(kBytes, &range).ok());
  CHECK(range % kHostGranule == 0);
  CHECK(source.free_bytes() == kHostGranule);
  CHECK(wrong(source.unreserve(range, kBytes - kHostGranule)));
  CHECK(wrong(source.unreserve(range + kHostGranule, kBytes - kHostGranule)));
  CHECK(source.unreserve(range, kBytes).ok());
  CHECK(wrong(source.unreserve(range, kBytes)));
}

TEST_CASE("Mapped memory is zero at first, keeps what is written, and is dropped by unmapping") {
  Fixture f;
  const Handle handle = f.handle(2);
  f.open(f.range, handle, 2);
  char* memory = bytes_at(f.range);
  CHECK(memory[0] == 0);
  CHECK(memory[2 * kHostGranule - 1] == 0);
  std::memset(memory, 0x5a, 2 * kHostGranule);
  CHECK(memory[kHostGranule] == 0x5a);
  REQUIRE(f.source.unmap(f.range, 2 * kHostGranule).ok());
  // The handle moves to another address.
  f.open(f.range + 2 * kHostGranule, handle, 2);
  CHECK(bytes_at(f.range + 2 * kHostGranule)[0] == 0);
}

TEST_CASE("Memory faults where nothing is mapped or access was not set") {
  Fixture f;
  const auto touches = [](Address address) {
    return test::in_child([=] {
             bytes_at(address)[0] = 1;
             return 0;
           }).code == 0;
  };
  CHECK_FALSE(touches(f.range));
  const Handle handle = f.handle();
  REQUIRE(f.source.map(f.range, kHostGranule, handle).ok());
  CHECK_FALSE(touches(f.range));
  REQUIRE(f.source.set_access(f.range, kHostGranule).ok());
  CHECK(touches(f.range));
  CHECK_FALSE(touches(f.range + kHostGranule));
  REQUIRE(f.source.unmap(f.range, kHostGranule).ok());
  CHECK_FALSE(touches(f.range));
}

TEST_CASE("Handles count against the total from their creation to their release") {
  Fixture f(3);
  const Handle first = f.handle(2);
  Handle second = 77;
  CHECK(f.source.create(2 * kHostGranule, &second).outcome == Outcome::out_of_memory);
  CHECK(second == 77);
  CHECK(f.source.free_bytes() == kHostGranule);
  CHECK(f.source.release(first, 2 * kHostGranule).ok());
  CHECK(f.source.create(3 * kHostGranule, &second).ok());
  CHECK(second != first);
  CHECK(f.source.free_bytes() == 0);
}

TEST_CASE("One call opens or unmaps several mappings side by side, but no part of one") {
  Fixture f;
  const Handle first = f.handle();
  const Handle second = f.handle(2);
  REQUIRE(f.source.map(f.range, kHostGranule, first).ok());
  REQUIRE(f.source.map(f.range + kHostGranule, 2 * kHostGranule, second).ok());
  CHECK(wrong(f.source.set_access(f.range, 2 * kHostGranule)));
  CHECK(wrong(f.source.set_access(f.range, 4 * kHostGranule)));
  CHECK(f.source.set_access(f.range, 3 * kHostGranule).ok());
  bytes_at(f.range)[3 * kHostGranule - 1] = 1;
  CHECK(wrong(f.source.unmap(f.range, 2 * kHostGranule)));
  CHECK(wrong(f.source.unmap(f.range + 2 * kHostGranule, kHostGranule)));
  CHECK(wrong(f.source.unmap(f.range, 0)));
  CHECK(bytes_at(f.range)[3 * kHostGranule - 1] == 1);
  CHECK(f.source.unmap(f.range, 3 * kHostGranule).ok());
  CHECK(wrong(f.source.unmap(f.range, 3 * kHostGranule)));
}

TEST_CASE("Wrong calls about handles change nothing") {
  Fixture f;
  const Handle handle = f.handle(2);
  CHECK(wrong(f.source.map(f.range, 2 * kHostGranule, handle + 1)));
  CHECK(wrong(f.source.map(f.range, kHostGranule, handle)));
  CHECK(wrong(f.source.map(f.range + 4096, 2 * kHostGranule, handle)));
  CHECK(wrong(f.source.map(f.range + 3 * kHostGranule, 2 * kHostGranule, handle)));
  CHECK(wrong(f.source.map(f.range - 2 * kHostGranule, 2 * kHostGranule, handle)));
  CHECK(wrong(f.source.release(handle, kHostGranule)));
  CHECK(wrong(f.source.release(handle + 1, 2 * kHostGranule)));
  REQUIRE(f.source.map(f.range + kHostGranule, 2 * kHostGranule, handle).ok());
  CHECK(wrong(f.source.map(f.range, 2 * kHostGranule, handle)));
  CHECK(wrong(f.source.release(handle, 2 * kHostGranule)));
  const Handle other = f.handle(2);
  CHECK(wrong(f.source.map(f.range, 2 * kHostGranule, other)));
  CHECK(wrong(f.source.map(f.range + 2 * kHostGranule, 2 * kHostGranule, other)));
  CHECK(wrong(f.source.unreserve(f.range, 4 * kHostGranule)));
  CHECK(f.source.unmap(f.range + kHostGranule, 2 * kHostGranule).ok());
  CHECK(f.source.unreserve(f.range, 4 * kHostGranule).ok());
  CHECK(wrong(f.source.map(f.range, 2 * kHostGranule, other)));
}

TEST_CASE("Sizes that are no multiple of a granule are refused") {
  HostSource source(8 * kHostGranule);
  Address address = 1;
  Handle handle = 1;
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, kHostGranule - 1, kHostGranule + 4096}) {
    INFO(bytes);
    CHECK(wrong(source.reserve(bytes, &address)));
    CHECK(wrong(source.create(bytes, &handle)));
  }
  CHECK(address == 1);
  CHECK(handle == 1);
  CHECK_FALSE(source.reserve(std::size_t{1} << 60, &address).ok());
}

TEST_CASE("Regions have exactly their size, are aligned, and count against the total") {
  HostSource source(2 * kHostGranule);
  Address small = 0;
  Address granule = 0;
  REQUIRE(source.allocate_region(1000, &small).ok());
  REQUIRE(source.allocate_region(kHostGranule, &granule).ok());
  CHECK(small % pool::kMinAlignment == 0);
  CHECK(granule % kHostGranule == 0);
  CHECK(source.free_bytes() == kHostGranule - 1000);
  std::memset(bytes_at(small), 1, 1000);
  std::memset(bytes_at(granule), 2, kHostGranule);
  CHECK(bytes_at(small)[999] == 1);
  Address none = 5;
  CHECK(source.allocate_region(kHostGranule, &none).outcome == Outcome::out_of_memory);
  CHECK(wrong(source.allocate_region(0, &none)));
  CHECK(none == 5);
  CHECK(wrong(source.free_region(small, 999)));
  CHECK(wrong(source.free_region(small + 1, 1000)));
  CHECK(source.free_region(small, 1000).ok());
  CHECK(wrong(source.free_region(small, 1000)));
  CHECK(source.free_region(granule, kHostGranule).ok());
  CHECK(source.free_bytes() == 2 * kHostGranule);
}

#if defined(__SANITIZE_ADDRESS__)
TEST_CASE("A memory checker sees the end of a region") {
  const auto ended = test::in_child([] {
    HostSource source(kHostGranule);
    Address region = 0;
    if (!source.allocate_region(1000, &region).ok()) return 0;
    *const_cast<volatile char*>(bytes_at(region) + 1000) = 1;
    return 0;
  });
  CHECK(ended.code != 0);
  CHECK(ended.err.find("heap-buffer-overflow") != std::string::npos);
}
#endif

TEST_CASE("Threads may use the source together") {
  constexpr std::size_t kThreads = 4;
  HostSource source(kThreads * kHostGranule);
  Address range = 0;
  REQUIRE(source.reserve(kThreads * kHostGranule, &range).ok());
  std::vector<std::thread> threads;
  std::vector<int> done(kThreads, 0);
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const Address mine = range + t * kHostGranule;
      for (int i = 0; i < 100; ++i) {
        Handle handle = 0;
        if (!source.create(kHostGranule, &handle).ok() ||
            !source.map(mine, kHostGranule, handle).ok() ||
            !source.set_access(mine, kHostGranule).ok()) {
          return;
        }
        bytes_at(mine)[i] = static_cast<char>(i);
        if (!source.unmap(mine, kHostGranule).ok() || !source.release(handle, kHostGranule).ok())
          return;
        ++done[t];
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const int times : done) CHECK(times == 100);
  CHECK(source.free_bytes() == kThreads * kHostGranule);
}
