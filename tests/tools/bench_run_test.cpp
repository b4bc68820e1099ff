#include "tools/forebay/bench_run.hpp"

#include <filesystem>

#include "tests/support/catch.hpp"
#include "tests/tools/child.hpp"
#include "tools/forebay/json_reader.hpp"

using namespace forebay;
using namespace forebay::tools;
using forebay::test::Folder;

namespace {
BenchOptions on(const std::string& device) {
  BenchOptions options;
  options.device = device;
  return options;
}
}  // namespace

TEST_CASE("a device that is spelled wrongly is a wrong question, one that is not there a failure") {
  for (const char* id : {"gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1234", "", "host:0"}) {
    INFO(id);
    CHECK_THROWS_AS(BenchRun(on(id)), UsageError);
  }
  CHECK_THROWS_AS(BenchRun(on("cuda:99")), DeviceError);
  CHECK(BenchRun(on("host")).device().id() == "host");
}

TEST_CASE("the configuration may be adjusted before the device opens") {
  BenchRun bench(on("host"), [](Config& config) { config.host_threads = 1; });
  CHECK(bench.device().config().host_threads == 1);
}

TEST_CASE("files are found writable before anything else is done") {
  const Folder folder;
  BenchOptions options = on("cuda:99");  // which would fail later
  options.json_file = folder.file("no/such.json");
  try {
    const BenchRun bench(options);
    FAIL("opened");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("such.json") != std::string::npos);
  }
  options.json_file = folder.file("a.json");
  for (const char* name : {"a.json", "./a.json"}) {
    options.stats_file = folder.file(name);
    CHECK_THROWS_AS(BenchRun(options), UsageError);
    CHECK_FALSE(std::filesystem::exists(options.json_file));
    options.leaks_file = folder.file(name);
    options.stats_file.clear();
    CHECK_THROWS_AS(BenchRun(options), UsageError);
    options.leaks_file.clear();
  }
  options.config_file = folder.with("c.json", "{}");
  options.json_file = folder.file("./c.json");
  CHECK_THROWS_AS(BenchRun(options), UsageError);
  CHECK(Folder::read(options.config_file) == "{}");
}

TEST_CASE("finish writes the results, and the statistics as they were when taken") {
  const Folder folder;
  BenchOptions options = on("host");
  options.json_file = folder.file("a.json");
  options.stats_file = folder.file("s.json");
  BenchRun bench(options);
  const pool::StreamId stream = bench.device().default_stream().id();
  void* block = bench.device().pool().allocate(1000, stream);
  bench.take_stats();
  pool::Pool(bench.device().pool()).deallocate(block, stream);
  bench.finish("{}\n");
  CHECK(Folder::read(options.json_file) == "{}\n");
  const JsonDocument stats(Folder::read(options.stats_file), "stats");
  CHECK(stats.count("/pool/requested/current") == 1000U);
}

TEST_CASE("details belong to statistics, and list the memory") {
  const Folder folder;
  BenchOptions options = on("host");
  options.detail = true;
  CHECK_THROWS_AS(BenchRun(options), UsageError);
  options.stats_file = folder.file("s.json");
  BenchRun bench(options);
  const pool::StreamId stream = bench.device().default_stream().id();
  (void)bench.device().pool().allocate(1000, stream, {.tag = "weights"});
  bench.take_stats();
  bench.finish("{}\n");
  const JsonDocument stats(Folder::read(options.stats_file), "stats");
  CHECK(stats.text("/pool/map/0/client") == "slab");
  CHECK(stats.text("/leaks/0/tag") == "weights");
}

TEST_CASE("finish closes the device and writes what was left in it") {
  const Folder folder;
  BenchOptions options = on("host");
  options.leaks_file = folder.file("l.json");
  BenchRun bench(options);
  const pool::StreamId stream = bench.device().default_stream().id();
  (void)bench.device().pool().allocate(1000, stream, {.tag = "forgotten"});
  bench.finish("{}\n");
  CHECK(bench.device().closed());
  const JsonDocument leaks(Folder::read(options.leaks_file), "leaks");
  CHECK(leaks.count("/pool/blocks") == 1U);
  CHECK(leaks.text("/pool/groups/0/tag") == "forgotten");
}
