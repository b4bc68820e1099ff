#include "tests/pool/trace/pickles.hpp"
#include "tests/pool/trace/samples.hpp"

using namespace forebay::pool;
using namespace forebay::pool::test;

TEST_CASE("a real snapshot gives what is known to be in it, in every protocol") {
  const Trace trace = read_trace(data_file("samples/torch_snapshot_protocol2.pickle"));
  CHECK(trace.format == "torch");
  CHECK(trace.events.size() == 121);
  CHECK(trace.blocks == 70);
  CHECK(trace.peak_requested == 125744060);
  CHECK(trace.blocks - (trace.events.size() - trace.blocks) == 19);
  CHECK(trace.failures == 1);
  CHECK(trace.streams.size() == 2);
  CHECK(trace.prologue == 0);
  CHECK(trace.duration_us > 0);
  for (const char* protocol : {"4", "5"}) {
    CHECK(read_trace(data_file("samples/torch_snapshot_protocol" + std::string(protocol) +
                               ".pickle")) == trace);
  }
}

TEST_CASE("what was live before a snapshot's first event becomes its prologue") {
  const Trace trace = parse_trace(
      snapshot(
          {snapshot_segment(0, 5,
                            {snapshot_block(1000, 512, 500, "active_allocated"),  // no event
                             snapshot_block(1512, 512, 400, "active_allocated"),  // has its alloc
                             snapshot_block(2024, 512, 300, "active_pending_free"),
                             snapshot_block(2536, 512, 0, "inactive")}),
           snapshot_segment(1, 0, {snapshot_block(9000, 512, 500, "active_allocated")})},
          {pickled_list({snapshot_event("free_requested", 7000, 70, 6, 100),
                         snapshot_event("free_completed", 7000, 70, 6, 101),
                         snapshot_event("segment_alloc", 1000, 4096, 5, 102),
                         snapshot_event("alloc", 1512, 400, 5, 103),
                         snapshot_event("free_requested", 1512, 400, 5, 104),
                         snapshot_event("alloc", 1512, 401, 5, 105),
                         snapshot_event("alloc", 7000, 71, 5, 106)})}),
      "FILE");
  CHECK(trace.prologue == 2);
  REQUIRE(trace.events.size() == 7);
  CHECK(trace.events[0] == TraceEvent{0, 70, 0, 0, TraceAction::alloc, 8});
  CHECK(trace.events[1] == TraceEvent{0, 500, 1, 1, TraceAction::alloc, 8});
  CHECK(trace.events[2] == TraceEvent{0, 0, 0, 0, TraceAction::free, 8});
  CHECK(trace.events[3] == TraceEvent{3, 400, 2, 1, TraceAction::alloc, 8});
  CHECK(trace.events[6] == TraceEvent{6, 71, 4, 1, TraceAction::alloc, 8});
  CHECK(trace.streams == std::vector<std::uint64_t>{6, 5});
}

TEST_CASE("an old snapshot has neither times nor addresses of blocks") {
  const Trace trace = parse_trace(
      snapshot(
          {pickled_dict(
              {{"device", 0},
               {"stream", 0},
               {"address", 1000},
               {"blocks",
                pickled_list({pickled_dict({{"size", 512}, {"state", "inactive"}}),
                              pickled_dict({{"size", 1024}, {"state", "active_allocated"}})})}})},
          {pickled_list(
              {pickled_dict({{"action", "free"}, {"addr", 1512}, {"size", 1024}, {"stream", 0}}),
               pickled_dict({{"action", "alloc"}, {"addr", 5000}, {"size", 8}, {"stream", 0}})})}),
      "FILE");
  CHECK(trace.prologue == 1);
  CHECK(trace.events.size() == 3);
  CHECK(trace.duration_us == 0);
}

TEST_CASE("of several devices one has to be chosen") {
  const std::string two =
      snapshot({}, {pickled_list({snapshot_event("alloc", 1, 10, 0, 0)}), pickled_list({}),
                    pickled_list({snapshot_event("alloc", 1, 30, 0, 0)})});
  CHECK(complaint(two) ==
        "FILE: there are events of the devices 0, 2; choose one of them "
        "with --trace-device N");
  TraceOptions options;
  options.device = 2;
  CHECK(parse_trace(two, "FILE", options).peak_requested == 30);
  options.device = 1;
  CHECK(complaint(two, options) == "FILE: no events of device 1; there are those of: 0, 2");
  options.device = 3;
  CHECK(complaint(two, options).find("no events of device 3") != std::string::npos);
}

TEST_CASE("a pickle that is no snapshot is refused in one line") {
  CHECK(complaint(pickle(pickled_list({1, 2}))).find("no device_traces") != std::string::npos);
  CHECK(complaint(snapshot({}, {})) == "FILE: 0 events; a trace has at least one alloc");
  CHECK(complaint(snapshot({}, {pickled_list({pickled_dict({{"addr", 1}})})}))
            .find("event 1: it has no action") != std::string::npos);
  CHECK(complaint(snapshot({}, {pickled_list({7})})).find("event 1: it has no action") !=
        std::string::npos);
  CHECK(complaint(snapshot({}, {pickled_list({snapshot_event("alloc", 1, -8, 0, 0)})})) ==
        "FILE: event 1: size is no whole number from 0 on");
  CHECK(complaint(snapshot({}, {pickled_list({pickled_dict({{"action", "alloc"}})})})) ==
        "FILE: event 1: addr is missing; it must be a whole number from 0 on");
  CHECK(complaint(snapshot({pickled_dict({{"device", 0}})},
                           {pickled_list({snapshot_event("alloc", 1, 8, 0, 0)})})) ==
        "FILE: segment 1: it has no list of blocks; a segment is a dictionary with one");
}

TEST_CASE("a hostile snapshot is refused before anything in it could run") {
  CHECK(complaint(data("samples/hostile.pickle")) ==
        "FILE: byte 123 of the pickle: opcode STACK_GLOBAL would run code or load a class; a "
        "snapshot holds plain data only, and nothing else is allowed");
}

TEST_CASE("values that a pickle shares cannot multiply the work") {
  std::vector<std::pair<const char*, Pickled>> many(300, {"key", 1});
  many.emplace_back("action", "alloc");
  CHECK(complaint(snapshot({}, {pickled_list({pickled_dict(many)})})) ==
        "FILE: event 1: a dictionary of more than 256 keys");
  // One segment of a thousand blocks, named a hundred thousand times.
  Pickled segments(0);
  segments.bytes =
      "](" +
      snapshot_segment(0, 0, std::vector<Pickled>(1000, snapshot_block(1, 0, 0, "inactive")))
          .bytes +
      "q\x01";
  for (int i = 0; i < 100'000; ++i) segments.bytes += "h\x01";
  segments.bytes += 'e';
  const std::string content = pickle(pickled_dict(
      {{"segments", segments},
       {"device_traces", pickled_list({pickled_list({snapshot_event("alloc", 1, 8, 0, 0)})})}}));
  CHECK(complaint(content).find("more blocks than the pickle has bytes") != std::string::npos);
}

TEST_CASE("a snapshot whose parts are of another kind is refused with the part and the kind") {
  const auto refusal = [](const Pickled& root) -> std::string {
    try {
      (void)parse_trace(pickle(root), "FILE");
    } catch (const forebay::TraceError& error) {
      return error.what();
    }
    return "";
  };
  const Pickled none = pickled_list({});
  const Pickled events = pickled_list({pickled_list({snapshot_event("alloc", 1, 2, 3, 4)})});
  CHECK(refusal(pickled_dict({{"segments", none}, {"device_traces", events}})).empty());
  CHECK(refusal(pickled_dict({{"device_traces", pickled_dict({{"0", events}})}})) ==
        "FILE: device_traces is a dictionary; a list with a list of events for each device is "
        "allowed");
  CHECK(refusal(pickled_dict({{"device_traces", 5}})).find("device_traces is a number;") !=
        std::string::npos);
  CHECK(refusal(pickled_dict({{"device_traces", "x"}})).find("device_traces is a text;") !=
        std::string::npos);
  CHECK(
      refusal(pickled_dict({{"device_traces", pickled_list({none, pickled_dict({{"a", 1}})})}})) ==
      "FILE: device_traces[1] is a dictionary; a list of events is allowed");
  CHECK(
      refusal(pickled_dict({{"device_traces", events}, {"segments", pickled_dict({{"a", 1}})}})) ==
      "FILE: segments is a dictionary; a list of segments is allowed");
  const Pickled segment = pickled_dict({{"blocks", pickled_dict({{"a", 1}})}});
  CHECK(refusal(pickled_dict({{"device_traces", events}, {"segments", pickled_list({segment})}}))
            .find("segment 1: it has no list of blocks;") != std::string::npos);
  const Pickled two = pickled_list({events, events});
  CHECK(refusal(pickled_dict({{"device_traces", two}})).find("with --trace-device N") !=
        std::string::npos);
}
