#include "tests/pool/trace/samples.hpp"

using namespace forebay::pool;
using namespace forebay::pool::test;

TEST_CASE("a CSV trace is read as it is written") {
  const Trace trace = parse_trace(csv("5,alloc,10,1000,3\n7,use,10,0,1\n9,free,10,0,3\n"), "FILE");
  CHECK(trace.format == "csv");
  CHECK(trace.streams == std::vector<std::uint64_t>{3, 1});
  CHECK(trace.events == std::vector<TraceEvent>{{0, 1000, 0, 0, TraceAction::alloc, 8},
                                                {2, 0, 0, 1, TraceAction::use, 8},
                                                {4, 0, 0, 0, TraceAction::free, 8}});
}

TEST_CASE("line ends, blanks, empty lines and a missing header do not matter") {
  const Trace plain = parse_trace(csv("5,alloc,10,1000,3\n9,free,10,0,3\n"), "FILE");
  for (const std::string& text :
       {"\xEF\xBB\xBF" + csv("5,alloc,10,1000,3\r\n\r\n9 , free, 10,\t0,3 \r\n"),
        std::string("5,alloc,10,1000,3\n9,free,10,0,3"),
        csv("\n\n5,alloc,10,1000,3\n\n9,free,10,0,3\n\n"),
        " \n\n" + csv("5,alloc,10,1000,3\n9,free,10,0,3\n")}) {
    CHECK(parse_trace(text, "FILE") == plain);
  }
}

TEST_CASE("times may go backwards, and count from the earliest") {
  const Trace trace = parse_trace("9,alloc,1,5,0\n7,alloc,2,6,0\n8,free,1,0,0\n", "FILE");
  CHECK(trace.events == std::vector<TraceEvent>{{2, 5, 0, 0, TraceAction::alloc, 8},
                                                {0, 6, 1, 0, TraceAction::alloc, 8},
                                                {1, 0, 0, 0, TraceAction::free, 8}});
  CHECK(trace.duration_us == 2);
}

TEST_CASE("the traces of real jobs have the events that they are known for") {
  struct Known {
    const char* name;
    std::size_t events;
    double peak_gb;
    std::size_t streams;
  };
  for (const Known& known :
       {Known{"gpt2_varlen_train", 115531, 7.70, 1},
        Known{"gpt2m_checkpoint_train", 186006, 8.80, 1}, Known{"sweep_reinit", 205547, 0.172, 1},
        Known{"moe_train", 171934, 12.98, 1}, Known{"prefetch_train", 21857, 3.06, 2},
        Known{"overlap_streams", 33442, 1.36, 3}, Known{"streams_pipeline", 8991, 0.342, 4}}) {
    INFO(known.name);
    const Trace trace = read_trace(data_file(std::string("traces/") + known.name + ".csv.gz"));
    CHECK(trace.events.size() == known.events);
    CHECK(trace.streams.size() == known.streams);
    CHECK(static_cast<double>(trace.peak_requested) / 1e9 == Approx(known.peak_gb).epsilon(0.005));
  }
}
