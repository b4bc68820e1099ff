// Traces replayed on a device, with every block stamped and checked.
#include "forebay/runtime/runtime.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/device.hpp"
#include "tests/tools/child.hpp"
#include "tools/forebay/json_reader.hpp"
#include "tools/forebay/touch.hpp"

using namespace forebay;
using namespace forebay::tools;
using forebay::test::Outcome;
using forebay::test::run_forebay;

TEST_CASE("traces replay on a device, and every block keeps its stamp") {
  FOREBAY_REQUIRE_DEVICE();
  for (const char* name : {"traces/streams_pipeline.csv.gz", "traces/overlap_streams.csv.gz",
                           "samples/torch_snapshot_protocol5.pickle", "samples/rmm_log.csv"}) {
    INFO(name);
    const Outcome outcome =
        run_forebay({"replay", std::string(FOREBAY_SOURCE_DIR "/tests/data/") + name, "--device",
                     "cuda", "--touch", "--repeat", "2", "--json", "-"});
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    const JsonDocument json(outcome.out, "output");
    CHECK(json.text("/device") == "cuda:0");
    CHECK(json.flag("/completed") == true);
    CHECK(json.json("/lost_block") == "null");
    CHECK(json.count("/device_syncs") == 0U);
  }
}

TEST_CASE("a stamp that somebody writes over on a device is missed") {
  FOREBAY_REQUIRE_DEVICE();
  Runtime runtime = Runtime::create(test::device_config());
  Device& device = runtime.device("cuda");
  const std::vector<Stream> streams = {device.create_stream(), device.create_stream()};
  const auto touch = make_touch(device, streams);
  for (const std::uint64_t bytes : {1ULL, 3ULL, 255ULL, 256ULL, 257ULL, 5000ULL, 100'000'000ULL}) {
    void* block = device.pool().allocate(bytes, streams[0].id());
    touch->stamp(block, bytes, 41, 0);
    touch->check(block, bytes, 41, 0, 0);
    touch->check(block, bytes, 41, 1, 0);
    CHECK_FALSE(touch->finish());
    device.pool().deallocate(block, streams[0].id());
  }
  void* block = device.pool().allocate(1'000'000, streams[0].id());
  touch->stamp(block, 1'000'000, 41, 0);
  touch->stamp(static_cast<char*>(block) + 999'936, 4, 42, 0);  // a block that overlaps its end
  touch->check(block, 1'000'000, 41, 1, 0);
  CHECK(touch->finish() == 41U);
  device.pool().deallocate(block, streams[0].id());
}
