#include "forebay/pool/error.hpp"
#include "forebay/pool/trace.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::pool;

namespace {

Trace three_blocks() {
  return parse_trace(
      "time_us,action,id,size,stream\n"
      "0,alloc,1,1000,0\n1,alloc,2,1,0\n2,use,1,0,7\n3,free,1,0,0\n4,alloc,3,0,0\n"
      "5,alloc,4,600,7\n",
      "here");
}

}  // namespace

TEST_CASE("a scaled job has the same events and other sizes, and its peak is theirs") {
  const Trace trace = three_blocks();
  CHECK(scaled(trace, 1) == trace);
  Trace half = scaled(trace, 0.5);
  CHECK(half.peak_requested == 501);  // one byte is the least
  CHECK(half.events[0].size == 500);
  CHECK(half.events[1].size == 1);
  CHECK(half.events[4].size == 0);
  CHECK(half.events[5].size == 300);
  CHECK(scaled(trace, 1.07).peak_requested == 1071);
  for (std::size_t i = 0; i < half.events.size(); ++i) half.events[i].size = trace.events[i].size;
  half.peak_requested = trace.peak_requested;
  CHECK(half == trace);
}

TEST_CASE("sizes that no trace may have are refused with the event") {
  const Trace trace = three_blocks();
  CHECK_THROWS_WITH(scaled(trace, 1e15),
                    "event 1: a block of 1000 bytes, scaled, has more than 2^48; scale by less");
  Trace many = trace;
  many.events.clear();
  many.blocks = 70'000;
  for (std::uint32_t i = 0; i < many.blocks; ++i) {
    many.events.push_back({i, std::uint64_t{1} << 47, i, 0, TraceAction::alloc, 8});
  }
  CHECK_THROWS_WITH(scaled(many, 2),
                    "event 65536: the live blocks, scaled, have more than 2^64 bytes together; "
                    "scale by less");
}
