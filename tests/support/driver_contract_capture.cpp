// Clauses on stream capture: what ends one, and what does not.
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

void waiting_for_a_capturing_stream_kills_its_capture(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CurrentContext context(api);
  const TestStream stream(api);
  const CUresult end = capture(api, stream.get(), kRelaxed, [&] {
    CHECK(api.cuStreamSynchronize(stream.get()) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  });
  CHECK(end == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

void a_killed_capture_leaves_a_working_stream(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CurrentContext context(api);
  const TestStream stream(api);
  REQUIRE(api.cuStreamBeginCapture(stream.get(), kRelaxed) == CUDA_SUCCESS);
  CHECK(api.cuStreamSynchronize(stream.get()) != CUDA_SUCCESS);
  CUgraph graph = nullptr;
  CHECK(api.cuStreamEndCapture(stream.get(), &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CHECK(graph == nullptr);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  CHECK(api.cuStreamIsCapturing(stream.get(), &status) == CUDA_SUCCESS);
  CHECK(status == CU_STREAM_CAPTURE_STATUS_NONE);
  CHECK(api.cuStreamSynchronize(stream.get()) == CUDA_SUCCESS);
  CHECK(capture(api, stream.get(), kRelaxed, [] {}) == CUDA_SUCCESS);
}

constexpr ContractClause kCaptureClauses[] = {
    {"a capturing stream does not tell its id", a_capturing_stream_does_not_tell_its_id},
    {"an event query kills a capture, not a relaxed one", an_event_query_kills_a_capture},
    {"a thread in relaxed mode may query", a_relaxed_thread_may_query},
    {"another thread's query kills a global capture only",
     another_threads_query_kills_a_global_capture_only},
    {"memory may be mapped while capturing", memory_may_be_mapped_while_capturing},
    {"an allocation kills a capture", an_allocation_kills_a_capture},
    {"other streams work while capturing", other_streams_work_while_capturing},
    {"waiting for a capturing stream kills its capture, a relaxed one too",
     waiting_for_a_capturing_stream_kills_its_capture},
    {"a capture that was killed leaves a stream that works",
     a_killed_capture_leaves_a_working_stream},
};

}  // namespace

std::span<const ContractClause> capture_contract() { return kCaptureClauses; }

}  // namespace forebay::test
