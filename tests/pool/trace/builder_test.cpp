#include "pool/trace/builder.hpp"

#include "tests/pool/trace/samples.hpp"

using namespace forebay;
using namespace forebay::pool;

namespace {

template <typename Act>
std::string message_of(Act&& act) {
  try {
    act();
  } catch (const TraceError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a built trace has ordinals, sums and times from its earliest event") {
  TraceBuilder builder("name", "line", BlockNames::unique);
  builder.alloc(1000, 77, 100, 9);
  builder.alloc(990, 5, 50, 4, 12);
  builder.use(1010, 77, 4);
  builder.free(1020, 77, 9);
  builder.alloc(1030, 6, 70, 9);
  builder.failure();
  const Trace trace = builder.finish("csv");
  CHECK(trace.format == "csv");
  CHECK(trace.streams == std::vector<std::uint64_t>{9, 4});
  CHECK(trace.blocks == 3);
  CHECK(trace.failures == 1);
  CHECK(trace.peak_requested == 150);
  CHECK(trace.duration_us == 40);
  CHECK(trace.prologue == 0);
  REQUIRE(trace.events.size() == 5);
  CHECK(trace.events[0] == TraceEvent{10, 100, 0, 0, TraceAction::alloc, 8});
  CHECK(trace.events[1] == TraceEvent{0, 50, 1, 1, TraceAction::alloc, 12});
  CHECK(trace.events[2] == TraceEvent{20, 0, 0, 1, TraceAction::use, 8});
  CHECK(trace.events[3] == TraceEvent{30, 0, 0, 0, TraceAction::free, 8});
  CHECK(trace.events[4] == TraceEvent{40, 70, 2, 0, TraceAction::alloc, 8});
}

TEST_CASE("an address that comes again is a new block, a number is not") {
  TraceBuilder addresses("name", "event", BlockNames::reused);
  addresses.alloc(0, 0x100, 1, 0);
  addresses.free(0, 0x100, 0);
  addresses.alloc(0, 0x100, 2, 0);
  CHECK(addresses.finish("rmm").blocks == 2);

  TraceBuilder numbers("name", "line", BlockNames::unique);
  numbers.at(3);
  numbers.alloc(0, 1, 1, 0);
  numbers.at(4);
  numbers.free(0, 1, 0);
  numbers.at(5);
  CHECK(message_of([&] { numbers.alloc(0, 1, 2, 0); }) ==
        "name: line 5: alloc of block 1, which was freed in line 4; the number of a block is never "
        "used again");
}

TEST_CASE("what cannot have happened is refused with its place") {
  TraceBuilder builder("name", "event", BlockNames::reused);
  builder.at(1);
  builder.alloc(0, 0xA0, 10, 0);
  builder.at(2);
  CHECK(message_of([&] { builder.alloc(0, 0xA0, 10, 0); }) ==
        "name: event 2: alloc of address 0xa0, which is live since event 1; an address may come "
        "again only after its free");
  CHECK(message_of([&] { builder.free(0, 0xB0, 0); }) ==
        "name: event 2: free of address 0xb0, which was never allocated; an alloc must come before "
        "it");
  builder.free(0, 0xA0, 0);
  builder.at(3);
  CHECK(
      message_of([&] { builder.use(0, 0xA0, 0); }) ==
      "name: event 3: use of address 0xa0, which was freed in event 2; nothing may follow a free");
  CHECK(message_of([&] { builder.free(0, 0xA0, 0); }).find("free of address 0xa0") !=
        std::string::npos);
  CHECK(message_of([&] { builder.alloc(0, 1, kMaxTraceBlock + 1, 0); }) ==
        "name: event 3: 281474976710657 bytes are too many; a block has at most 2^48 bytes");
  CHECK(message_of([&] { builder.alloc(INT64_MAX, 1, 1, 0); }).find("a time of") !=
        std::string::npos);
}

TEST_CASE("live bytes never overflow") {
  TraceBuilder builder("name", "event", BlockNames::unique);
  std::uint64_t block = 0;
  const std::string wrong = message_of([&] {
    while (true) builder.alloc(0, block++, kMaxTraceBlock, 0);
  });
  CHECK(block == 65536);
  CHECK(wrong.find("more than 2^64 bytes together") != std::string::npos);
}

TEST_CASE("a prologue holds allocs only") {
  TraceBuilder builder("name", "event", BlockNames::unique);
  builder.alloc(0, 1, 8, 0);
  builder.alloc(0, 2, 8, 0);
  builder.end_prologue();
  builder.free(0, 1, 0);
  CHECK(message_of([&] { builder.end_prologue(); }).find("not all of the events were allocs") !=
        std::string::npos);
  CHECK(builder.finish("torch").prologue == 2);
}

TEST_CASE("a trace without events is refused, and so are too many streams") {
  CHECK(message_of([] { (void)TraceBuilder("name", "line", BlockNames::unique).finish("csv"); }) ==
        "name: 0 events; a trace has at least one alloc");
  TraceBuilder builder("name", "line", BlockNames::unique);
  builder.alloc(0, 0, 1, 0);
  std::uint64_t stream = 1;
  CHECK(message_of([&] {
          while (true) builder.use(0, 0, stream++);
        }).find("more than 1048576 streams") != std::string::npos);
  CHECK(stream == kMaxTraceStreams + 1);
}

TEST_CASE("pieces of files are shown on one line") {
  CHECK(pool::quoted("a\nb\x01\x7F") == "'a\\x0ab\\x01\\x7f'");
  CHECK(pool::quoted(std::string(50, 'x')) == "'" + std::string(40, 'x') + "...'");
}
