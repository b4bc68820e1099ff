// Content decides about the reader, and each bad trace gets one line.
#include "tests/pool/trace/pickles.hpp"
#include "tests/pool/trace/samples.hpp"

using namespace forebay::pool;
using namespace forebay::pool::test;

TEST_CASE("each format is recognised by its content") {
  CHECK(parse_trace(csv("1,alloc,1,1,0\n"), "a.pickle").format == "csv");
  CHECK(parse_trace(data("samples/rmm_log.csv"), "a.gz").format == "rmm");
  CHECK(parse_trace(data("samples/torch_snapshot_protocol5.pickle"), "a.csv").format == "torch");
  CHECK(parse_trace(encode_trace(parse_trace(csv("1,alloc,1,1,0\n"), "x")), "a.csv").format ==
        "forebay");
}

TEST_CASE("bad traces get one line each, with the file, the place and what is allowed") {
  struct Bad {
    std::string content, line;
  };
  const std::string gz = data("traces/streams_pipeline.csv.gz");
  const Bad table[] = {
      {gz.substr(0, gz.size() / 2), "gzip ends too early"},
      {gz.substr(0, gz.size() - 1), "gzip ends too early"},
      {csv("1,alloc,1,5,0\n2,free,2,0,0\n"),
       "FILE: line 3: free of block 2, which was never allocated; an alloc must come before it"},
      {csv("1,alloc,1,5,0\n2,free,1,0,0\n3,free,1,0,0\n"),
       "FILE: line 4: free of block 1, which was freed in line 3; nothing may follow a free"},
      {csv("1,alloc,1,5,0\n2,free,1,0,0\n3,use,1,0,1\n"),
       "FILE: line 4: use of block 1, which was freed in line 3; nothing may follow a free"},
      {csv("1,alloc,1,5,0\n2,alloc,1,5,0\n"),
       "FILE: line 3: alloc of block 1, which is live since line 2; the number of a block is never "
       "used again"},
      {csv("1,alloc,1,-5,0\n"),
       "FILE: line 2: size is '-5'; a whole number from 0 to 2^64 - 1 is allowed"},
      {csv("1,alloc,1,5.5,0\n"), "size is '5.5'"},
      {csv("1,alloc,1,99999999999999999999999,0\n"), "size is '99999999999999999999999'"},
      {csv("1,alloc,1,281474976710657,0\n"),
       "FILE: line 2: 281474976710657 bytes are too many; a block has at most 2^48 bytes"},
      {csv("-1,alloc,1,5,0\n"), "time_us is '-1'"},
      {csv("18446744073709551615,alloc,1,5,0\n"), "at most 2^62 is allowed"},
      {csv("1,alloc,,5,0\n"), "id is ''"},
      {csv("1,alloc,1,5,x\n"), "stream is 'x'"},
      {csv("1,grow,1,5,0\n"), "FILE: line 2: action is 'grow'; alloc, free and use are allowed"},
      {csv("1,alloc,1,5\n"), "the five columns time_us,action,id,size,stream are needed"},
      {csv("1,alloc,1,5,0,0\n"), "the five columns"},
      {"time_us,action,id,bytes,stream\n1,alloc,1,5,0\n",
       "FILE: line 1: the columns are 'time_us,action,id,bytes,stream'; "
       "time_us,action,id,size,stream are needed"},
      {kCsvHeader, "FILE: 0 events; a trace has at least one alloc"},
      {"", "FILE: 0 events; a trace has at least one alloc"},
      {"\n \n", "FILE: 0 events; a trace has at least one alloc"},
      {"Thread,Time,Action,Pointer,Size,Stream\n", "FILE: 0 events"},
      {snapshot({}, {}), "FILE: 0 events"},
      {data("samples/hostile.pickle"), "opcode STACK_GLOBAL"},
      {"{\"schema\": 1}", "no trace begins with '{\"schema\": 1'; allowed are forebay.trace, CSV"},
      {std::string(1000, '\xFF'), "no trace begins with"},
      {"time", "no trace begins with 'time'"},
  };
  for (const Bad& bad : table) {
    const std::string line = complaint(bad.content);
    INFO(line);
    CHECK(line.find("FILE: ") == 0);
    CHECK(line.find(bad.line) != std::string::npos);
    CHECK(line.find('\n') == std::string::npos);
  }
}

TEST_CASE("what is too long for the limit is refused before it is read") {
  TraceOptions options;
  options.max_bytes = 100;
  CHECK(complaint(std::string(101, 'x'), options) ==
        "FILE: more than 100 bytes, which is too much for a trace");
  options.max_bytes = 200'000;  // enough for the compressed trace only
  CHECK(complaint(data("traces/streams_pipeline.csv.gz"), options).find("gzip holds more than") !=
        std::string::npos);
}

TEST_CASE("of an endless file of something else, the beginning is enough") {
  try {
    (void)read_trace("/dev/zero");
    FAIL("read");
  } catch (const forebay::TraceError& error) {
    CHECK(std::string(error.what()).find("/dev/zero: no trace begins with '\\x00") == 0);
  }
}
