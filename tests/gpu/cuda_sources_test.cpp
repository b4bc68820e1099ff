// Sources and timeline on the real driver.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "runtime/cuda/cuda_device.hpp"
#include "runtime/cuda/cuda_vmm_source.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/device.hpp"
#include "tests/support/driver_pieces.hpp"
#include "tests/support/source_contract.hpp"

using namespace forebay;
using namespace forebay::test;
using pool::Address;
using pool::Handle;

namespace {

struct Bench {
  std::shared_ptr<const driver::CudaApi> api = driver::CudaApi::open();
  std::shared_ptr<cuda::Context> context = std::make_shared<cuda::Context>(api, 0);
  Bench() { REQUIRE(context->enter()); }
};

}  // namespace

TEST_CASE("device memory is created, mapped side by side, copied across and given back") {
  FOREBAY_REQUIRE_DEVICE();
  Bench bench;
  cuda::CudaVmmSource source(bench.context);
  const std::size_t unit = source.traits().granularity;
  const std::size_t free_before = source.free_bytes();
  CHECK(free_before > 0);
  CHECK(source.traits().total >= free_before);
  Address range = 0;
  REQUIRE(source.reserve(8 * source.traits().total / unit * unit, &range).ok());
  constexpr std::size_t kHandles = 4;
  std::vector<Handle> handles(kHandles);
  for (std::size_t i = 0; i < kHandles; ++i) {
    REQUIRE(source.create(unit, &handles[i]).ok());
    REQUIRE(source.map(range + i * unit, unit, handles[i]).ok());
  }
  REQUIRE(source.set_access(range, kHandles * unit).ok());
  {
    const TestStream stream(*bench.api);
    fill(*bench.api, range, 0x5a, kHandles * unit, stream.get());
    const auto bytes = read(*bench.api, range, kHandles * unit, stream.get());
    CHECK(static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), 0x5a)) ==
          kHandles * unit);
  }
  for (std::size_t i = 0; i < kHandles; ++i) {
    CHECK(source.unmap(range + i * unit, unit).ok());
    CHECK(source.release(handles[i], unit).ok());
  }
  CHECK(source.unreserve(range, 8 * source.traits().total / unit * unit).ok());
  Address region = 0;
  CHECK(source.allocate_region(1000, &region).ok());
  CHECK(source.free_region(region, 1000).ok());
  CHECK(source.create(2 * source.traits().total / unit * unit, &handles[0]).outcome ==
        pool::Outcome::out_of_memory);
}

TEST_CASE("the driver's memory keeps the contract of sources") {
  FOREBAY_REQUIRE_DEVICE();
  Bench bench;
  cuda::CudaVmmSource mapped(bench.context);
  keeps_source_contract(mapped, true);
  cuda::CudaVmmSource exportable(bench.context, {{}, pool::PoolExport::fd});
  keeps_source_contract(exportable, true);
  cuda::CudaMallocSource regions(bench.context);
  keeps_source_contract(regions, true);
  cuda::CudaPinnedSource pinned(bench.context);
  keeps_source_contract(pinned, false);
}

TEST_CASE("pinned memory goes to the device and back") {
  FOREBAY_REQUIRE_DEVICE();
  Bench bench;
  cuda::CudaPinnedSource pinned(bench.context);
  cuda::CudaVmmSource memory(bench.context);
  constexpr std::size_t kBytes = std::size_t{4} << 20;
  Address host = 0;
  Address device = 0;
  REQUIRE(pinned.allocate_region(kBytes, &host).ok());
  REQUIRE(memory.allocate_region(kBytes, &device).ok());
  auto* words = reinterpret_cast<std::uint32_t*>(host);
  constexpr std::size_t kWords = kBytes / sizeof(std::uint32_t);
  for (std::size_t i = 0; i < kWords; ++i) {
    words[i] = static_cast<std::uint32_t>(i * 2654435761U);
  }
  {
    const TestStream stream(*bench.api);
    const auto& api = *bench.api;
    CHECK(api.cuMemcpyHtoDAsync(device, words, kBytes, stream.get()) == CUDA_SUCCESS);
    CHECK(api.cuStreamSynchronize(stream.get()) == CUDA_SUCCESS);
    std::memset(words, 0, kBytes);
    CHECK(api.cuMemcpyDtoHAsync(words, device, kBytes, stream.get()) == CUDA_SUCCESS);
    CHECK(api.cuStreamSynchronize(stream.get()) == CUDA_SUCCESS);
  }
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < kWords; ++i) {
    wrong += words[i] != static_cast<std::uint32_t>(i * 2654435761U) ? 1 : 0;
  }
  CHECK(wrong == 0);
  CHECK(memory.free_region(device, kBytes).ok());
  CHECK(pinned.free_region(host, kBytes).ok());
}

TEST_CASE("points pass, wait and are recycled on the driver") {
  FOREBAY_REQUIRE_DEVICE();
  Bench bench;
  Counter events{0};
  cuda::CudaTimeline timeline(bench.context, events);
  {
    const TestStream a(*bench.api);
    const TestStream b(*bench.api);
    const pool::StreamId a_id = a.id();
    const pool::StreamId b_id = b.id();  // a stream that captures would not tell
    timeline.add(a_id, a.get());
    timeline.add(b_id, b.get());
    pool::Point point = 0;
    for (int round = 0; round < 200; ++round) {
      REQUIRE(timeline.record(a_id, ++point));
      REQUIRE(timeline.wait(b_id, a_id, point));
      REQUIRE(timeline.record(b_id, point));
      REQUIRE(timeline.synchronize(b_id, point));
      REQUIRE(timeline.passed(a_id, point));
    }
    CHECK(events == 2);

    REQUIRE(timeline.record(a_id, ++point));
    REQUIRE(bench.api->cuStreamBeginCapture(b.get(), CU_STREAM_CAPTURE_MODE_GLOBAL) ==
            CUDA_SUCCESS);
    CHECK(timeline.capturing(b_id));
    CHECK_FALSE(timeline.capturing(a_id));
    CHECK(timeline.synchronize(a_id, point));
    CHECK(timeline.passed(a_id, point));
    CUgraph graph = nullptr;
    CHECK(bench.api->cuStreamEndCapture(b.get(), &graph) == CUDA_SUCCESS);
    CHECK(bench.api->cuGraphDestroy(graph) == CUDA_SUCCESS);
    timeline.remove(a_id);
    timeline.remove(b_id);
  }
  timeline.close();
  CHECK(events == 0);
}
