// Clauses on streams and events: identity, order, and what an event stands for.
#include <algorithm>
#include <set>

#include "tests/support/driver_contract.hpp"
#include "tests/support/driver_pieces.hpp"

namespace forebay::test {
namespace {

using driver::CudaApi;

void stream_ids_are_never_used_again(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CurrentContext context(api);
  std::set<std::uint64_t> ids;
  constexpr std::size_t kStreams = 64;
  for (std::size_t i = 0; i < kStreams; ++i) {
    ids.insert(TestStream(api).id());
  }
  CHECK(ids.size() == kStreams);
}

void an_event_that_was_never_recorded_is_done(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CurrentContext context(api);
  const TestEvent event(api);
  CHECK(api.cuEventQuery(event.get()) == CUDA_SUCCESS);
  CHECK(api.cuEventSynchronize(event.get()) == CUDA_SUCCESS);
}

void an_event_is_done_when_its_stream_got_there(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CurrentContext context(api);
  const TestStream stream(api);
  const TestEvent event(api);
  driver.block(stream.get());
  CHECK(api.cuEventRecord(event.get(), stream.get()) == CUDA_SUCCESS);
  CHECK(api.cuEventQuery(event.get()) == CUDA_ERROR_NOT_READY);
  CHECK(api.cuStreamQuery(stream.get()) == CUDA_ERROR_NOT_READY);
  driver.unblock(stream.get());
  CHECK(api.cuEventSynchronize(event.get()) == CUDA_SUCCESS);
  CHECK(api.cuEventQuery(event.get()) == CUDA_SUCCESS);
}

void a_waiting_stream_starts_after_the_event(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CurrentContext context(api);
  const TestStream first(api);
  const TestStream second(api);
  const TestEvent ahead(api);
  const TestEvent behind(api);
  driver.block(first.get());
  CHECK(api.cuEventRecord(ahead.get(), first.get()) == CUDA_SUCCESS);
  CHECK(api.cuStreamWaitEvent(second.get(), ahead.get(), 0) == CUDA_SUCCESS);
  CHECK(api.cuEventRecord(behind.get(), second.get()) == CUDA_SUCCESS);
  CHECK(api.cuEventQuery(behind.get()) == CUDA_ERROR_NOT_READY);
  driver.unblock(first.get());
  CHECK(api.cuEventSynchronize(behind.get()) == CUDA_SUCCESS);
  CHECK(api.cuEventQuery(ahead.get()) == CUDA_SUCCESS);
}

void a_wait_is_for_the_event_as_it_was(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CurrentContext context(api);
  const TestStream blocked(api);
  const TestStream waiter(api);
  const TestStream idle(api);
  const TestEvent behind(api);
  {
    const TestEvent recycled(api);
    driver.block(blocked.get());
    CHECK(api.cuEventRecord(recycled.get(), blocked.get()) == CUDA_SUCCESS);
    CHECK(api.cuStreamWaitEvent(waiter.get(), recycled.get(), 0) == CUDA_SUCCESS);
    CHECK(api.cuEventRecord(behind.get(), waiter.get()) == CUDA_SUCCESS);
    CHECK(api.cuEventRecord(recycled.get(), idle.get()) == CUDA_SUCCESS);
    CHECK(api.cuEventSynchronize(recycled.get()) == CUDA_SUCCESS);
  }  // and the event may even be destroyed
  CHECK(api.cuEventQuery(behind.get()) == CUDA_ERROR_NOT_READY);
  driver.unblock(blocked.get());
  CHECK(api.cuEventSynchronize(behind.get()) == CUDA_SUCCESS);
}

void a_destroyed_stream_finishes_its_work(const DriverUnderTest& driver) {
  const CudaApi& api = *driver.api;
  const CurrentContext context(api);
  const TestStream blocked(api);
  const TestEvent gate(api);
  const TestEvent event(api);
  driver.block(blocked.get());
  CHECK(api.cuEventRecord(gate.get(), blocked.get()) == CUDA_SUCCESS);
  {
    const TestStream ending(api);
    CHECK(api.cuStreamWaitEvent(ending.get(), gate.get(), 0) == CUDA_SUCCESS);
    CHECK(api.cuEventRecord(event.get(), ending.get()) == CUDA_SUCCESS);
  }
  CHECK(api.cuEventQuery(event.get()) == CUDA_ERROR_NOT_READY);
  driver.unblock(blocked.get());
  CHECK(api.cuEventSynchronize(event.get()) == CUDA_SUCCESS);
}

constexpr ContractClause kStreamClauses[] = {
    {"stream ids are never used again", stream_ids_are_never_used_again},
    {"an event that was never recorded is done", an_event_that_was_never_recorded_is_done},
    {"an event is done when its stream got there", an_event_is_done_when_its_stream_got_there},
    {"a waiting stream starts after the event", a_waiting_stream_starts_after_the_event},
    {"a wait is for the event as it was", a_wait_is_for_the_event_as_it_was},
    {"a destroyed stream finishes its work", a_destroyed_stream_finishes_its_work},
};

}  // namespace

std::span<const ContractClause> stream_contract() { return kStreamClauses; }

}  // namespace forebay::test
