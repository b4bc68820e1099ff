#include "pool/trace/recorder.hpp"

#include <thread>

#include "tests/pool/trace/samples.hpp"

using namespace forebay::pool;

namespace {

constexpr std::size_t kEvent = 32;

void free(TraceRecorder& recorder, Address address, StreamId stream) {
  static_cast<void>(recorder.freeing(address, stream));
}

/// The events without their times.
std::vector<TraceEvent> timeless(Trace trace) {
  for (TraceEvent& event : trace.events) event.time_us = 0;
  return trace.events;
}

}  // namespace

TEST_CASE("a recorder says what it was told") {
  TraceRecorder recorder(100 * kEvent);
  recorder.allocated(0x1000, 500, 4096, 7);
  recorder.allocated(0x2000, 600, 1, 9);
  recorder.used(0x1000, 9);
  free(recorder, 0x1000, 7);
  recorder.allocated(0x1000, 700, 256, 7);
  const Trace trace = recorder.trace();
  CHECK(trace.prologue == 0);
  CHECK(trace.streams == std::vector<std::uint64_t>{7, 9});
  CHECK(timeless(trace) == std::vector<TraceEvent>{{0, 500, 0, 0, TraceAction::alloc, 12},
                                                   {0, 600, 1, 1, TraceAction::alloc, 8},
                                                   {0, 0, 0, 1, TraceAction::use, 8},
                                                   {0, 0, 0, 0, TraceAction::free, 8},
                                                   {0, 700, 2, 0, TraceAction::alloc, 8}});
  CHECK(parse_trace(encode_trace(trace), "FILE") == trace);
}

TEST_CASE("what leaves the ring is told as the blocks that were live before it") {
  TraceRecorder recorder(4 * kEvent);
  recorder.allocated(0x1000, 1, 256, 1);  // lives
  recorder.allocated(0x2000, 2, 256, 1);  // is freed outside the ring
  recorder.used(0x1000, 2);
  recorder.allocated(0x3000, 3, 512, 1);  // is freed inside it
  free(recorder, 0x2000, 1);
  recorder.allocated(0x2000, 4, 256, 1);
  // The ring begins here.
  free(recorder, 0x3000, 1);
  recorder.allocated(0x3000, 5, 256, 1);
  recorder.used(0x3000, 2);
  free(recorder, 0x2000, 1);
  const Trace trace = recorder.trace();
  CHECK(trace.prologue == 3);
  CHECK(timeless(trace) == std::vector<TraceEvent>{{0, 1, 0, 0, TraceAction::alloc, 8},
                                                   {0, 3, 1, 0, TraceAction::alloc, 9},
                                                   {0, 4, 2, 0, TraceAction::alloc, 8},
                                                   {0, 0, 0, 1, TraceAction::use, 8},
                                                   {0, 0, 1, 0, TraceAction::free, 8},
                                                   {0, 5, 3, 0, TraceAction::alloc, 8},
                                                   {0, 0, 3, 1, TraceAction::use, 8},
                                                   {0, 0, 2, 0, TraceAction::free, 8}});
}

TEST_CASE("a ring of any size tells the same live set") {
  for (const std::size_t events : {1U, 2U, 7U, 1000U}) {
    TraceRecorder recorder(events * kEvent);
    std::uint64_t live = 0;
    for (Address i = 0; i < 300; ++i) {
      recorder.allocated(0x1000 * i, i, 256, 1);
      live += i;
      if (i % 3 != 0) continue;
      free(recorder, 0x1000 * (i / 2), 1);
      live -= i / 2;
      recorder.allocated(0x1000 * (i / 2), 1, 256, 1);
      live += 1;
    }
    const Trace trace = recorder.trace();
    std::vector<std::uint64_t> sizes(trace.blocks);
    std::uint64_t told = 0;
    for (const TraceEvent& event : trace.events) {
      if (event.action == TraceAction::alloc) told += sizes[event.block] = event.size;
      if (event.action == TraceAction::free) told -= sizes[event.block];
    }
    CHECK(told == live);
    CHECK(trace.events.size() - trace.prologue <= events);
  }
}

TEST_CASE("a free that the pool refused is no event") {
  TraceRecorder recorder(8 * kEvent);
  recorder.allocated(0x1000, 1, 256, 1);
  recorder.take_back(recorder.freeing(0x1000, 9));
  recorder.take_back(recorder.freeing(0x7777, 1));
  recorder.used(0x1000, 2);
  free(recorder, 0x1000, 1);
  free(recorder, 0x1000, 1);  // taken back too late
  for (int i = 0; i < 20; ++i) recorder.take_back(recorder.freeing(0x1000, 1));
  recorder.allocated(0x1000, 2, 256, 1);
  const Trace trace = recorder.trace();
  CHECK(trace.blocks == 1);
  CHECK(trace.events.size() == 1);
}

TEST_CASE("a block remembers no more streams than the latest ones") {
  TraceRecorder recorder(kEvent);
  recorder.allocated(0x1000, 1, 256, 1);
  for (StreamId stream = 2; stream < 1000; ++stream) recorder.used(0x1000, stream);
  const Trace trace = recorder.trace();
  CHECK(trace.events.size() == 1 + 16 + 1);
  CHECK(trace.streams.back() == 999);
}

TEST_CASE("memory goes with the ring and the live blocks, not with history") {
  TraceRecorder recorder(64 * kEvent);
  Address next = 0;  // every block has an address of its own
  const auto round = [&](int times) {
    for (int i = 0; i < times; ++i, next += 100) {
      for (Address a = next; a < next + 100; ++a) recorder.allocated(a << 12, 1, 256, 1);
      for (Address a = next; a < next + 100; ++a) free(recorder, a << 12, 1);
    }
    return recorder.metadata_bytes();
  };
  const std::size_t early = round(10);
  CHECK(early >= 64 * kEvent);
  CHECK(round(1000) == early);
}

TEST_CASE("nothing recorded is no trace") {
  CHECK_THROWS_AS(TraceRecorder(kEvent).trace(), forebay::TraceError);
}

TEST_CASE("threads record together") {
  TraceRecorder recorder(1 << 20);
  std::vector<std::thread> threads;
  for (Address t = 1; t <= 4; ++t) {
    threads.emplace_back([&recorder, t] {
      for (Address i = 0; i < 1000; ++i) {
        recorder.allocated(t << 32 | i << 8, 10, 256, t);
        if (i % 2 == 0) free(recorder, t << 32 | i << 8, t);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Trace trace = recorder.trace();
  CHECK(trace.blocks == 4000);
  CHECK(trace.events.size() == 6000);
}
