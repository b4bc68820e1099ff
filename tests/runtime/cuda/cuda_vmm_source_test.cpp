#include "runtime/cuda/cuda_vmm_source.hpp"

#include <vector>

#include "forebay/pool/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/driver_pieces.hpp"
#include "tests/support/fake_context.hpp"

using namespace forebay;
using cuda::CudaVmmSource;
using pool::Address;
using pool::Handle;
using pool::Outcome;
using test::FakeContext;
using test::FakeDriver;

namespace {

constexpr std::size_t kGranule = std::size_t{2} << 20;
constexpr std::size_t kMemory = 8 * kGranule;

FakeDriver::Options small() {
  FakeDriver::Options options;
  options.memory = kMemory;
  return options;
}

}  // namespace

TEST_CASE("the source tells what the device is") {
  FakeContext fake(small());
  CudaVmmSource source(fake.context);
  const pool::SourceTraits traits = source.traits();
  CHECK(traits.name == "cuda-vmm");
  CHECK(traits.virtual_memory);
  CHECK(traits.granularity == kGranule);
  CHECK(traits.total == kMemory);
  CHECK(source.free_bytes() == kMemory);
}

TEST_CASE("a handle is created, mapped, written, moved and released") {
  FakeContext fake(small());
  CudaVmmSource source(fake.context);
  Address range = 0;
  Handle handle = 0;
  REQUIRE(source.reserve(16 * kGranule, &range).ok());
  CHECK(range % kGranule == 0);
  REQUIRE(source.create(2 * kGranule, &handle).ok());
  CHECK(source.free_bytes() == kMemory - 2 * kGranule);
  REQUIRE(source.map(range + kGranule, 2 * kGranule, handle).ok());
  REQUIRE(source.set_access(range + kGranule, 2 * kGranule).ok());
  *reinterpret_cast<int*>(range + kGranule) = 42;
  REQUIRE(source.unmap(range + kGranule, 2 * kGranule).ok());
  REQUIRE(source.map(range + 5 * kGranule, 2 * kGranule, handle).ok());
  REQUIRE(source.set_access(range + 5 * kGranule, 2 * kGranule).ok());
  CHECK(*reinterpret_cast<int*>(range + 5 * kGranule) == 42);
  REQUIRE(source.unmap(range + 5 * kGranule, 2 * kGranule).ok());
  REQUIRE(source.release(handle, 2 * kGranule).ok());
  REQUIRE(source.unreserve(range, 16 * kGranule).ok());
  CHECK(source.free_bytes() == kMemory);
  CHECK(fake.driver.leaks() == "1 retained contexts");
  CHECK(fake.driver.releases_while_mapped() == 0);
}

TEST_CASE("memory that is used up is an answer, anything else an accident") {
  FakeContext fake(small());
  CudaVmmSource source(fake.context);
  Handle handle = 0;
  const pool::SourceResult full = source.create(kMemory + kGranule, &handle);
  CHECK(full.outcome == Outcome::out_of_memory);
  CHECK(full.code == CUDA_ERROR_OUT_OF_MEMORY);
  const pool::SourceResult odd = source.create(kGranule / 2, &handle);
  CHECK(odd.outcome == Outcome::failed);
  CHECK(odd.code == CUDA_ERROR_INVALID_VALUE);
  Address region = 0;
  CHECK(source.allocate_region(2 * kMemory, &region).outcome == Outcome::out_of_memory);
}

TEST_CASE("each call's failure comes back with the driver's code") {
  FakeContext fake(small());
  CudaVmmSource source(fake.context);
  Address range = 0;
  Handle handle = 0;
  const std::vector<std::pair<const char*, std::function<pool::SourceResult()>>> calls = {
      {"cuMemAddressReserve", [&] { return source.reserve(kGranule, &range); }},
      {"cuMemCreate", [&] { return source.create(kGranule, &handle); }},
      {"cuMemMap", [&] { return source.map(range, kGranule, handle); }},
      {"cuMemSetAccess", [&] { return source.set_access(range, kGranule); }},
      {"cuMemUnmap", [&] { return source.unmap(range, kGranule); }},
      {"cuMemRelease", [&] { return source.release(handle, kGranule); }},
      {"cuMemAddressFree", [&] { return source.unreserve(range, kGranule); }},
      {"cuMemAlloc", [&] { return source.allocate_region(kGranule, &range); }},
      {"cuMemFree", [&] { return source.free_region(range, kGranule); }},
  };
  for (const auto& [name, call] : calls) {
    INFO(name);
    fake.driver.fail(name, 1, CUDA_ERROR_UNKNOWN);
    const pool::SourceResult failed = call();
    CHECK(failed.outcome == Outcome::failed);
    CHECK(failed.code == CUDA_ERROR_UNKNOWN);
    CHECK(call().ok());  // and the next one works
  }
  CHECK(fake.driver.leaks() == "1 retained contexts");
}

TEST_CASE("a device without virtual memory is refused") {
  FakeDriver::Options options = small();
  options.virtual_memory = false;
  FakeContext fake(options);
  CHECK_THROWS_AS(CudaVmmSource(fake.context), DeviceError);
}

TEST_CASE("mapped memory is open to peers in the same call, and to nobody else") {
  FakeDriver::Options options = small();
  options.devices = 3;
  FakeContext fake(options);
  CudaVmmSource source(fake.context, {{2}, pool::PoolExport::none});
  Address range = 0;
  Handle handle = 0;
  REQUIRE(source.reserve(kGranule, &range).ok());
  REQUIRE(source.create(kGranule, &handle).ok());
  REQUIRE(source.map(range, kGranule, handle).ok());
  REQUIRE(source.set_access(range, kGranule).ok());
  CHECK(fake.api->cuMemSetAccess.calls() == 1);
  const auto read_from = [&](CUdevice device) {
    cuda::Context context(fake.api, device);
    REQUIRE(context.enter());
    const test::TestStream stream(*fake.api);
    unsigned char byte = 0;
    return fake.api->cuMemcpyDtoHAsync(&byte, range, 1, stream.get());
  };
  CHECK(read_from(0) == CUDA_SUCCESS);
  CHECK(read_from(1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(read_from(2) == CUDA_SUCCESS);
  CHECK(source.unmap(range, kGranule).ok());
  CHECK(source.release(handle, kGranule).ok());
  CHECK(source.unreserve(range, kGranule).ok());
}

TEST_CASE("a device that cannot export memory is refused when it has to") {
  FakeDriver::Options options = small();
  options.export_files = false;
  FakeContext fake(options);
  CHECK_NOTHROW(CudaVmmSource(fake.context));
  CHECK_THROWS_AS(CudaVmmSource(fake.context, {{}, pool::PoolExport::fd}), DeviceError);
}

TEST_CASE("regions may be allocated and freed while somebody captures") {
  FakeContext fake(small());
  CudaVmmSource source(fake.context);
  CUstream stream = nullptr;
  REQUIRE(fake.api->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  REQUIRE(fake.api->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
  Address region = 0;
  CHECK(source.allocate_region(4096, &region).ok());
  CHECK(source.free_region(region, 4096).ok());
  CUgraph graph = nullptr;
  CHECK(fake.api->cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
}

TEST_CASE("a source whose context has gone fails without a call") {
  FakeContext fake(small());
  CudaVmmSource source(fake.context);
  fake.context->release();
  const std::uint64_t before = fake.api->calls();
  Handle handle = 0;
  CHECK(source.create(kGranule, &handle).code == CUDA_ERROR_DEINITIALIZED);
  CHECK(source.unmap(kGranule, kGranule).outcome == Outcome::failed);
  CHECK(source.free_bytes() == 0);
  CHECK(fake.api->calls() == before);
}
