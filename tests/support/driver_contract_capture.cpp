// Clauses on stream capture: what ends one, what does not, and that a graph replays.
#include <algorithm>
#include <optional>
#include <thread>

#include "tests/support/driver_contract.hpp"
#include "tests/support/driver_pieces.hpp"

namespace forebay::test {
namespace {

using driver::CudaApi;

constexpr CUstreamCaptureMode kGlobal = CU_STREAM_CAPTURE_MODE_GLOBAL;
constexpr CUstreamCaptureMode kThreadLocal = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
constexpr CUstreamCaptureMode kRelaxed = CU_STREAM_CAPTURE_MODE_RELAXED;

/// Captures `during` on `stream` and gives what ending it answers.
template <typename During>
CUresult capture(const CudaApi& api, CUstream stream, CUstreamCaptureMode mode, During during) {
  REQUIRE(api.cuStreamBeginCapture(stream, mode) == CUDA_SUCCESS);
  during();
  CUgraph graph = nullptr;
  const CUresult result = api.cuStreamEndCapture(stream, &graph);
  if (graph != nullptr) {
    api.cuGraphDestroy(graph);
  }
  return result;
}

/// Runs `what` on another thread with the same context.
template <typename What>
void elsewhere(const CudaApi& api, CUcontext context, What what) {
  std::thread([&] {
    api.cuCtxSetCurrent(context);
    what();
  }).join();
}

void a_capturing_stream_does_not_tell_its_id(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CurrentContext context(api);
  const TestStream stream(api);
  const std::uint64_t before = stream.id();
  (void)capture(api, stream.get(), kRelaxed, [&] {
    unsigned long long id = 0;
    CHECK(api.cuStreamGetId(stream.get(), &id) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  });
  CHECK(stream.id() == before);
}

void an_event_query_kills_a_capture(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CurrentContext context(api);
  const TestStream stream(api);
  const TestStream other(api);
  const TestEvent event(api);
  REQUIRE(api.cuEventRecord(event.get(), other.get()) == CUDA_SUCCESS);
  REQUIRE(api.cuEventSynchronize(event.get()) == CUDA_SUCCESS);
  for (const CUstreamCaptureMode mode : {kGlobal, kThreadLocal}) {
    const CUresult end = capture(api, stream.get(), mode, [&] {
      CHECK(api.cuEventQuery(event.get()) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
      CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
      CHECK(api.cuStreamIsCapturing(stream.get(), &status) == CUDA_SUCCESS);
      CHECK(status == CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    });
    CHECK(end == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  }
  CHECK(capture(api, stream.get(), kRelaxed,
                [&] { CHECK(api.cuEventQuery(event.get()) == CUDA_SUCCESS); }) == CUDA_SUCCESS);
}

void a_relaxed_thread_may_query(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CurrentContext context(api);
  const TestStream stream(api);
  const TestStream other(api);
  const TestEvent event(api);
  REQUIRE(api.cuEventRecord(event.get(), other.get()) == CUDA_SUCCESS);
  REQUIRE(api.cuEventSynchronize(event.get()) == CUDA_SUCCESS);
  for (const CUstreamCaptureMode mode : {kGlobal, kThreadLocal}) {
    const CUresult end = capture(api, stream.get(), mode, [&] {
      CUstreamCaptureMode exchanged = kRelaxed;
      CHECK(api.cuThreadExchangeStreamCaptureMode(&exchanged) == CUDA_SUCCESS);
      CHECK(exchanged == kGlobal);
      CHECK(api.cuEventQuery(event.get()) == CUDA_SUCCESS);
      CHECK(api.cuEventSynchronize(event.get()) == CUDA_SUCCESS);
      CHECK(api.cuThreadExchangeStreamCaptureMode(&exchanged) == CUDA_SUCCESS);
      CHECK(exchanged == kRelaxed);
    });
    CHECK(end == CUDA_SUCCESS);
  }
}

void another_threads_query_kills_a_global_capture_only(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CurrentContext context(api);
  const TestStream stream(api);
  const TestStream other(api);
  const TestEvent event(api);
  REQUIRE(api.cuEventRecord(event.get(), other.get()) == CUDA_SUCCESS);
  REQUIRE(api.cuEventSynchronize(event.get()) == CUDA_SUCCESS);
  const auto query = [&](CUresult wanted) {
    elsewhere(api, context.get(), [&] { CHECK(api.cuEventQuery(event.get()) == wanted); });
  };
  CHECK(capture(api, stream.get(), kGlobal, [&] {
          query(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        }) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CHECK(capture(api, stream.get(), kThreadLocal, [&] { query(CUDA_SUCCESS); }) == CUDA_SUCCESS);
  CHECK(capture(api, stream.get(), kRelaxed, [&] { query(CUDA_SUCCESS); }) == CUDA_SUCCESS);
}

void memory_may_be_mapped_while_capturing(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CurrentContext context(api);
  const TestStream stream(api);
  const std::size_t unit = granule(api);
  const TestRange range(api, unit);
  for (const CUstreamCaptureMode mode : {kGlobal, kThreadLocal, kRelaxed}) {
    std::optional<TestHandle> handle;
    const CUresult end = capture(api, stream.get(), mode, [&] {
      handle.emplace(api, unit);
      handle->map(range.at());
      handle->unmap();
    });
    CHECK(end == CUDA_SUCCESS);
  }
}

void an_allocation_kills_a_capture(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CurrentContext context(api);
  const TestStream stream(api);
  CUdeviceptr address = 0;
  const CUresult end = capture(api, stream.get(), kGlobal, [&] {
    CHECK(api.cuMemAlloc(&address, 4096) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  });
  CHECK(end == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

void other_streams_work_while_capturing(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CurrentContext context(api);
  const TestStream stream(api);
  const TestStream other(api);
  const TestStream third(api);
  const TestEvent event(api);
  const CUresult end = capture(api, stream.get(), kGlobal, [&] {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CHECK(api.cuStreamIsCapturing(stream.get(), &status) == CUDA_SUCCESS);
    CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CHECK(api.cuStreamIsCapturing(other.get(), &status) == CUDA_SUCCESS);
    CHECK(status == CU_STREAM_CAPTURE_STATUS_NONE);
    CHECK(api.cuEventRecord(event.get(), other.get()) == CUDA_SUCCESS);
    CHECK(api.cuStreamWaitEvent(third.get(), event.get(), 0) == CUDA_SUCCESS);
  });
  CHECK(end == CUDA_SUCCESS);
}

void a_graph_runs_when_launched_and_again(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CurrentContext context(api);
  const TestStream stream(api);
  const std::size_t unit = granule(api);
  const TestRange range(api, unit);
  TestHandle handle(api, unit);
  handle.map(range.at());
  fill(api, range.at(), 1, 64, stream.get());

  REQUIRE(api.cuStreamBeginCapture(stream.get(), kGlobal) == CUDA_SUCCESS);
  fill(api, range.at(), 2, 32, stream.get());
  CUgraph graph = nullptr;
  REQUIRE(api.cuStreamEndCapture(stream.get(), &graph) == CUDA_SUCCESS);
  CUgraphExec exec = nullptr;
  REQUIRE(api.cuGraphInstantiateWithFlags(&exec, graph, 0) == CUDA_SUCCESS);

  const auto twos = [&] {
    const auto bytes = read(api, range.at(), 64, stream.get());
    return std::count(bytes.begin(), bytes.end(), 2);
  };
  CHECK(twos() == 0);
  for (int round = 0; round < 2; ++round) {
    CHECK(api.cuGraphLaunch(exec, stream.get()) == CUDA_SUCCESS);
    CHECK(twos() == 32);
    fill(api, range.at(), 1, 64, stream.get());
  }
  CHECK(twos() == 0);
  CHECK(api.cuGraphExecDestroy(exec) == CUDA_SUCCESS);
  CHECK(api.cuGraphDestroy(graph) == CUDA_SUCCESS);
}

constexpr ContractClause kClauses[] = {
    {"a capturing stream does not tell its id", a_capturing_stream_does_not_tell_its_id},
    {"an event query kills a capture, not a relaxed one", an_event_query_kills_a_capture},
    {"a thread in relaxed mode may query", a_relaxed_thread_may_query},
    {"another thread's query kills a global capture only",
     another_threads_query_kills_a_global_capture_only},
    {"memory may be mapped while capturing", memory_may_be_mapped_while_capturing},
    {"an allocation kills a capture", an_allocation_kills_a_capture},
    {"other streams work while capturing", other_streams_work_while_capturing},
    {"a graph runs when it is launched, and again", a_graph_runs_when_launched_and_again},
};

}  // namespace

std::span<const ContractClause> capture_contract() { return kClauses; }

}  // namespace forebay::test
