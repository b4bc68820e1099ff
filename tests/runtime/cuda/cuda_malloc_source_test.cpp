#include "runtime/cuda/cuda_malloc_source.hpp"

#include "forebay/pool/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/driver_pieces.hpp"
#include "tests/support/fake_context.hpp"

using namespace forebay;
using cuda::CudaMallocSource;
using pool::Address;
using pool::Outcome;
using test::FakeContext;
using test::FakeDriver;

namespace {

FakeDriver::Options two_devices() {
  FakeDriver::Options options;
  options.devices = 2;
  options.memory = std::size_t{64} << 20;
  return options;
}

/// What the second device gets when it reads memory.
CUresult read_from_second(const FakeContext& fake, Address address) {
  cuda::Context second(fake.api, 1);
  REQUIRE(second.enter());
  const test::TestStream stream(*fake.api);
  unsigned char byte = 0;
  return fake.api->cuMemcpyDtoHAsync(&byte, address, 1, stream.get());
}

}  // namespace

TEST_CASE("the plain allocator tells what the device is and needs no virtual memory") {
  FakeDriver::Options options = two_devices();
  options.virtual_memory = false;
  FakeContext fake(options);
  CudaMallocSource source(fake.context);
  const pool::SourceTraits traits = source.traits();
  CHECK(traits.name == "cuda-malloc");
  CHECK_FALSE(traits.virtual_memory);
  CHECK(traits.free_waits);
  CHECK(traits.total == options.memory);
  CHECK(source.free_bytes() == options.memory);
  Address region = 0;
  REQUIRE(source.allocate_region(std::size_t{4} << 20, &region).ok());
  CHECK(source.free_bytes() == options.memory - (std::size_t{4} << 20));
  CHECK(source.free_region(region, std::size_t{4} << 20).ok());
  CHECK(fake.driver.leaks() == "1 retained contexts");
}

TEST_CASE("regions are open to peers, and to nobody else") {
  FakeContext fake(two_devices());
  Address region = 0;
  {
    CudaMallocSource alone(fake.context);
    REQUIRE(alone.allocate_region(4096, &region).ok());
    CHECK(read_from_second(fake, region) == CUDA_ERROR_INVALID_VALUE);
    CHECK(alone.free_region(region, 4096).ok());
  }
  CudaMallocSource source(fake.context, {1});
  REQUIRE(source.allocate_region(4096, &region).ok());
  CHECK(read_from_second(fake, region) == CUDA_SUCCESS);
  CHECK(source.free_region(region, 4096).ok());
  CHECK(fake.driver.leaks() == "1 retained contexts, 1 retained contexts");
  source.release_peers();
  source.release_peers();
  CHECK(fake.driver.leaks() == "1 retained contexts");
}

TEST_CASE("peer access that somebody else enabled is as good") {
  FakeContext fake(two_devices());
  const CudaMallocSource first(fake.context, {1});
  CHECK_NOTHROW(CudaMallocSource(fake.context, {1}));
}

TEST_CASE("a peer that cannot be opened to leaves nothing behind") {
  FakeDriver::Options options = two_devices();
  options.isolated = 0;
  FakeContext fake(options);
  CHECK_THROWS_AS(CudaMallocSource(fake.context, {1}), DriverError);
  fake.driver.fail("cuDevicePrimaryCtxRetain", 1, CUDA_ERROR_OUT_OF_MEMORY);
  CHECK_THROWS_AS(CudaMallocSource(fake.context, {1}), DriverError);
  CHECK(fake.driver.leaks() == "1 retained contexts");
}

TEST_CASE("each call of the plain allocator gives the driver's code") {
  FakeContext fake(two_devices());
  CudaMallocSource source(fake.context);
  Address region = 0;
  fake.driver.fail("cuMemAlloc", 1, CUDA_ERROR_UNKNOWN);
  const pool::SourceResult failed = source.allocate_region(4096, &region);
  CHECK(failed.outcome == Outcome::failed);
  CHECK(failed.code == CUDA_ERROR_UNKNOWN);
  REQUIRE(source.allocate_region(4096, &region).ok());
  fake.driver.fail("cuMemFree", 1, CUDA_ERROR_UNKNOWN);
  CHECK(source.free_region(region, 4096).code == CUDA_ERROR_UNKNOWN);
  CHECK(source.free_region(region, 4096).ok());
  fake.context->release();
  const std::uint64_t before = fake.api->calls();
  CHECK(source.allocate_region(4096, &region).code == CUDA_ERROR_DEINITIALIZED);
  CHECK(fake.api->calls() == before);
}

TEST_CASE("the plain allocator endangers nobody's capture") {
  FakeContext fake(two_devices());
  CudaMallocSource source(fake.context);
  const test::TestStream stream(*fake.api);
  REQUIRE(fake.api->cuStreamBeginCapture(stream.get(), CU_STREAM_CAPTURE_MODE_GLOBAL) ==
          CUDA_SUCCESS);
  Address region = 0;
  CHECK(source.allocate_region(4096, &region).ok());
  CHECK(source.free_region(region, 4096).ok());
  CUgraph graph = nullptr;
  CHECK(fake.api->cuStreamEndCapture(stream.get(), &graph) == CUDA_SUCCESS);
  CHECK(fake.api->cuGraphDestroy(graph) == CUDA_SUCCESS);
}
