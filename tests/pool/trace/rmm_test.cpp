#include "tests/pool/trace/samples.hpp"

using namespace forebay::pool;
using namespace forebay::pool::test;

namespace {

const std::string kHeader = "Thread,Time,Action,Pointer,Size,Stream\n";

std::size_t live_at_end(const Trace& trace) {
  std::size_t frees = 0;
  for (const TraceEvent& event : trace.events) frees += event.action == TraceAction::free ? 1 : 0;
  return trace.blocks - frees;
}

}  // namespace

TEST_CASE("a log of RMM's logging adaptor gives what it is known for") {
  const Trace trace = read_trace(data_file("samples/rmm_log.csv"));
  CHECK(trace.format == "rmm");
  CHECK(trace.events.size() == 370);
  CHECK(trace.failures == 2);
  CHECK(trace.peak_requested == 8558994);
  CHECK(live_at_end(trace) == 10);
  CHECK(trace.streams.size() == 2);
  CHECK(trace.duration_us > 0);
}

TEST_CASE("both words, both separators and every spelling of a pointer are read") {
  const Trace trace = parse_trace(kHeader +
                                      "1,15:47:02.000000,allocate,0x100,10,0\n"
                                      "1,15:47:02:000010,allocate,200,10,0x2\n"
                                      "1,15:47:02.000020,allocate,(nil),0,0\n"
                                      "1,15:47:02.000020,allocate failure,(nil),99,0\n"
                                      "1,15:47:02.000030,free,(nil),0,0\n"
                                      "1,15:47:02.000040,deallocate,0x100,10,0\n"
                                      "1,15:47:02.00005,free,0x200,10,2\n",
                                  "FILE");
  CHECK(trace.events.size() == 4);
  CHECK(trace.failures == 1);
  CHECK(trace.duration_us == 50);
  CHECK(trace.streams == std::vector<std::uint64_t>{0, 2});
}

TEST_CASE("midnight does not turn time back, and seconds since 1970 are times too") {
  const auto duration = [](const std::string& first, const std::string& second) {
    return parse_trace(
               kHeader + "1," + first + ",allocate,0x1,1,0\n1," + second + ",free,0x1,1,0\n",
               "FILE")
        .duration_us;
  };
  CHECK(duration("23:59:59.900000", "00:00:00.100000") == 200000);
  CHECK(duration("00:00:01.000010", "00:00:01.000004") == 6);  // two threads
  CHECK(duration("1700000000.5", "1700000001.25") == 750000);
}

TEST_CASE("an address may come again after its free") {
  const std::string twice =
      "1,0:0:0.0,allocate,0x1,1,0\n1,0:0:0.1,free,0x1,1,0\n1,0:0:0.2,allocate,0x1,3,0\n";
  CHECK(parse_trace(kHeader + twice, "FILE").blocks == 2);
  CHECK(parse_trace(twice, "FILE").blocks == 2);  // without its header, too
  CHECK(complaint(kHeader + twice + "1,0:0:0.3,allocate,0x1,3,0\n") ==
        "FILE: line 5: alloc of address 0x1, which is live since line 4; an address may come again "
        "only after its free");
}

TEST_CASE("each wrong line of a log is named") {
  const auto wrong = [](const std::string& line) { return complaint(kHeader + line + "\n"); };
  CHECK(wrong("1,0:0:0.0,allocate,0x1,1").find("line 2: found") != std::string::npos);
  CHECK(wrong("1,0:0:0.0,allocate,0x1,1,0,7").find("six columns") != std::string::npos);
  CHECK(wrong("1,24:0:0.0,allocate,0x1,1,0").find("Time is '24:0:0.0'") != std::string::npos);
  CHECK(wrong("1,1:2.5,allocate,0x1,1,0").find("Time is") != std::string::npos);
  CHECK(wrong("1,,allocate,0x1,1,0").find("Time is") != std::string::npos);
  CHECK(wrong("1,0:0:0.x,allocate,0x1,1,0").find("Time is") != std::string::npos);
  CHECK(wrong("1,0:0:0.0,alloc,0x1,1,0").find("Action is 'alloc'") != std::string::npos);
  CHECK(wrong("1,0:0:0.0,allocate,0xg,1,0").find("Pointer is '0xg'") != std::string::npos);
  CHECK(wrong("1,0:0:0.0,allocate,0x1,-1,0").find("Size is '-1'") != std::string::npos);
  CHECK(wrong("1,0:0:0.0,allocate,0x1,1,z").find("Stream is 'z'") != std::string::npos);
  CHECK(wrong("1,0:0:0.0,free,0x1,1,0").find("never allocated") != std::string::npos);
  CHECK(complaint("Thread,Time,Action,Pointer,Size\n").find("the columns are") !=
        std::string::npos);
}
