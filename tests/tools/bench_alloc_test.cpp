#include "tests/support/catch.hpp"
#include "tests/tools/child.hpp"
#include "tools/forebay/json_reader.hpp"

using forebay::test::Folder;
using forebay::test::Outcome;
using forebay::test::run_forebay;
using forebay::tools::JsonDocument;

namespace {

std::vector<std::string> with(std::vector<std::string> more) {
  std::vector<std::string> words = {"bench", "alloc", "--row-ms", "2"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("bench alloc records its trace and tells what is left, on every device") {
  const Folder folder;
  const std::string trace = folder.file("a.trace"), leaks = folder.file("l.json");
  for (const char* device : {"simulated", "host"}) {
    INFO(device);
    const Outcome outcome = run_forebay(
        with({"--device", device, "--cases", "pair,own-streams", "--bytes", "256", "--live", "10",
              "--threads", "2", "--thread-bytes", "4KiB", "--trace", trace, "--leaks", leaks}));
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    CHECK(run_forebay({"replay", trace}).code == 0);
    CHECK(run_forebay({"leaks", leaks, "--fail"}).code == 0);
  }
}

TEST_CASE("bench alloc takes keys that need memory where there is some, also for the controls") {
  const std::vector<std::string> words =
      with({"--cases", "own-streams", "--threads", "1", "--thread-bytes", "4KiB", "--config",
            FOREBAY_SOURCE_DIR "/configs/debug.json", "--device"});
  std::vector<std::string> on_host = words, simulated = words;
  on_host.emplace_back("host");
  simulated.emplace_back("simulated");
  const Outcome outcome = run_forebay(on_host);
  INFO(outcome.err);
  CHECK(outcome.code == 0);
  const Outcome refused = run_forebay(simulated);
  CHECK(refused.code == 2);
  CHECK(refused.err.find("--device host or --device cuda") != std::string::npos);
}

TEST_CASE("bench alloc runs every case and writes rows with every key") {
  const Folder folder;
  const std::string file = folder.file("alloc.json");
  const std::string dump = folder.file("stats.json");
  const Outcome outcome =
      run_forebay(with({"--device", "simulated", "--bytes", "256,64MiB", "--live", "10,1000",
                        "--live-bytes", "2MiB", "--order-bytes", "256", "--threads", "1,2",
                        "--thread-bytes", "4KiB", "--json", file, "--stats", dump}));
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  // Pairs 2 + 2, churn 2, lifo, fifo; with a control each: own and shared 2, producer-consumer 1.
  const std::size_t rows = 2 + 2 + 2 + 1 + 1 + 2 * (2 + 2 + 1);
  CHECK(forebay::test::lines(outcome.out) == static_cast<int>(rows) + 1);
  const JsonDocument json(Folder::read(file), file);
  CHECK(json.text("/bench") == "alloc");
  CHECK(json.text("/device") == "simulated");
  REQUIRE(json.size("/rows") == rows);
  CHECK(json.size("/left_out") == 0);
  std::size_t controls = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::string at = "/rows/" + std::to_string(i);
    INFO(at);
    const bool control = json.text(at + "/allocator") == "control";
    controls += control ? 1 : 0;
    CHECK((control || json.text(at + "/allocator") == "forebay"));
    CHECK(json.text(at + "/case").has_value());
    for (const char* key : {"/bytes", "/live", "/threads", "/pairs"}) {
      CHECK(json.count(at + key).has_value());
    }
    CHECK(*json.number(at + "/p50_ns") > 0);
    CHECK(*json.number(at + "/p99_ns") >= *json.number(at + "/p50_ns"));
    CHECK(*json.number(at + "/pairs_per_s") > 0);
  }
  CHECK(controls == 5);
  CHECK(json.count("/rows/3/live") == 1000U);
  CHECK(json.count("/rows/3/bytes") == std::uint64_t{2} << 20);
  const Outcome table = run_forebay({"stats", dump});
  INFO(table.err);
  CHECK(table.code == 0);
}

TEST_CASE("bench alloc times the host's pool too") {
  const Outcome outcome = run_forebay(with(
      {"--device", "host", "--cases", "pair", "--bytes", "4KiB", "--live", "100", "--json", "-"}));
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  const JsonDocument json(outcome.out, "output");
  CHECK(json.text("/device") == "host");
  CHECK(json.size("/rows") == 2);
}

TEST_CASE("what has no memory is left out and said so") {
  const Folder folder;
  const std::string config = folder.with("small.json", R"({"pool": {"capacity": "1 GiB"}})");
  const Outcome outcome =
      run_forebay(with({"--config", config, "--cases", "pair", "--bytes", "4KiB", "--live-bytes",
                        "2MiB", "--live", "10,1000", "--json", "-"}));
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  const JsonDocument json(outcome.out, "output");
  CHECK(json.size("/rows") == 2);
  REQUIRE(json.size("/left_out") == 1);
  CHECK(json.count("/left_out/0/live") == 1000U);
  CHECK(json.text("/left_out/0/why")->find("out of memory") != std::string::npos);

  const Outcome nothing = run_forebay(
      with({"--config", config, "--cases", "pair", "--bytes", "2GiB", "--live-bytes", "2GiB"}));
  CHECK(nothing.code == 1);
  CHECK(forebay::test::lines(nothing.err) == 1);
  CHECK(nothing.err.find("no row could be measured") != std::string::npos);
}

TEST_CASE("bench alloc refuses bad words in one line") {
  const auto refused = [](const std::vector<std::string>& more, int code, const std::string& says) {
    const Outcome outcome = run_forebay(with(more));
    INFO(outcome.err);
    CHECK(outcome.code == code);
    CHECK(outcome.out.empty());
    CHECK(forebay::test::lines(outcome.err) == 1);
    CHECK(outcome.err.find(says) != std::string::npos);
  };
  refused({"--cases", "pair,pears"}, 2, "'pears'");
  refused({"--bytes", "0"}, 2, "--bytes");
  refused({"--live", "1,000"}, 2, "--live");
  refused({"--live-bytes", "4KB"}, 2, "--live-bytes");
  refused({"--churn-max", "100"}, 2, "--churn-max");
  refused({"--order-bytes", ""}, 2, "--order-bytes");
  refused({"--threads", "0"}, 2, "--threads");
  refused({"--threads", "257"}, 2, "--threads");
  refused({"--thread-bytes", "2PiB"}, 2, "--thread-bytes");
  refused({"--row-ms", "0"}, 2, "--row-ms");
  refused({"--cases", "producer-consumer", "--threads", "1,3"}, 2, "even");
  refused({"--device", "gpu"}, 2, "simulated");
  refused({"--device", "cuda:77"}, 1, "cuda:77");
  refused({"--json", "/no/such/folder/a.json"}, 1, "/no/such/folder");
}
