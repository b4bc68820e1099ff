#include "tests/support/catch.hpp"
#include "tests/tools/child.hpp"
#include "tools/forebay/json_reader.hpp"

using forebay::test::Folder;
using forebay::test::Outcome;
using forebay::test::run_forebay;
using forebay::tools::JsonDocument;

namespace {

const std::string kData = FOREBAY_SOURCE_DIR "/tests/data/";
const std::string kTrace = kData + "traces/streams_pipeline.csv.gz";

Outcome replay(std::vector<std::string> words) {
  words.insert(words.begin(), "replay");
  return run_forebay(words);
}

}  // namespace

TEST_CASE("replay prints a table, and writes JSON and statistics") {
  const Folder folder;
  const std::string json_file = folder.file("r.json"), stats_file = folder.file("s.json");
  const Outcome outcome = replay(
      {kTrace, "--repeat", "2", "--event-lag", "100", "--json", json_file, "--stats", stats_file});
  INFO(outcome.err);
  CHECK(outcome.code == 0);
  CHECK(outcome.err.empty());
  CHECK(outcome.out.find("completed        yes") != std::string::npos);
  const JsonDocument json(Folder::read(json_file), json_file);
  CHECK(json.flag("/completed") == true);
  CHECK(json.count("/events") == 8991U);
  CHECK(json.count("/event_lag") == 100U);
  CHECK(json.count("/peak_requested") == 342'307'872U);
  CHECK(json.size("/passes") == 2);
  CHECK(json.text("/stats/schema") == "forebay.stats/1");
  CHECK(json.text("/stats/device/kind") == "simulated");
  CHECK(run_forebay({"stats", stats_file}).code == 0);  // they add up
}

TEST_CASE("a scaled job is played with its own peak") {
  const Outcome outcome =
      replay({kTrace, "--scale", "0.5", "--capacity", "2x", "--json", "-", "--event-lag", "32"});
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  const JsonDocument json(outcome.out, "-");
  CHECK(*json.number("/scale") == 0.5);
  CHECK(json.count("/events") == 8991U);
  CHECK(json.count("/peak_requested") == 171'153'936U);
  CHECK(json.count("/capacity") == 2 * 171'153'936U);
  CHECK(replay({kTrace, "--scale", "2"}).out.find("scale            2\n") != std::string::npos);
}

TEST_CASE("with --detail the statistics have the map and what is live, and they add up") {
  const Folder folder;
  const std::string plain_file = folder.file("p.json"), file = folder.file("s.json");
  CHECK(replay({kTrace, "--stats", plain_file}).code == 0);
  const Outcome outcome = replay({kTrace, "--stats", file, "--detail"});
  INFO(outcome.err);
  CHECK(outcome.code == 0);
  const JsonDocument plain(Folder::read(plain_file), plain_file), stats(Folder::read(file), file);
  CHECK(plain.json("/pool/map") == "[]");
  CHECK(plain.json("/leaks") == "[]");
  CHECK(stats.size("/pool/map") > 10);
  CHECK(stats.text("/config_hash") == plain.text("/config_hash"));
  const Outcome table = run_forebay({"stats", file});
  INFO(table.err);
  CHECK(table.code == 0);
  CHECK(table.out.find("\nmap: nothing listed") == std::string::npos);
  CHECK(run_forebay({"stats", plain_file}).out.find("\nmap: nothing listed") != std::string::npos);
}

TEST_CASE("every format replays, on the host as well and with stamps") {
  for (const char* file : {"samples/rmm_log.csv", "samples/torch_snapshot_protocol2.pickle",
                           "samples/torch_snapshot_protocol5.pickle"}) {
    INFO(file);
    CHECK(replay({kData + file}).code == 0);
    CHECK(replay({kData + file, "--device", "host", "--touch", "--capacity", "512MiB"}).code == 0);
  }
}

TEST_CASE("replay says which devices it takes, auto among them") {
  CHECK(replay({"--help"}).out.find("simulated|auto|host|cuda[:N]") != std::string::npos);
  CHECK(replay({kTrace, "--device", "gpu"}).err.find("simulated, auto, host, cuda or cuda:N") !=
        std::string::npos);
  CHECK(replay({"--help"}).out.find("events later (32)") != std::string::npos);
  const Outcome json = replay({kTrace, "--json", "-"});
  CHECK(JsonDocument(json.out, "output").count("/event_lag") == 32U);
}

TEST_CASE("a replay that fails exits with 1, and its JSON says where") {
  const Outcome outcome = replay({kTrace, "--capacity", "0.5x", "--json", "-"});
  CHECK(outcome.code == 1);
  CHECK(forebay::test::lines(outcome.err) == 1);
  CHECK(outcome.err.find("forebay: event ") == 0);
  CHECK(outcome.err.find("bytes live: pool: out of memory") != std::string::npos);
  const JsonDocument json(outcome.out, "output");
  CHECK(json.flag("/completed") == false);
  CHECK(json.count("/failed_event").has_value());
  CHECK(json.text("/failure/report")->find("rungs tried") != std::string::npos);
  const Outcome table = replay({kTrace, "--capacity", "0.5x"});
  CHECK(table.out.find("rungs tried") != std::string::npos);
}

TEST_CASE("a replay that is asked wrongly exits with 2") {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{},
                                             {kTrace, "--device", "auto-mobile"},
                                             {kTrace, "--device", "simulated", "--touch"},
                                             {kTrace, "--capacity", "big"},
                                             {kTrace, "--capacity", "1KiB"},
                                             {kTrace, "--repeat", "0"},
                                             {kTrace, "--event-lag", "-1"},
                                             {kTrace, "--device", "host", "--event-lag", "32"},
                                             {kTrace, "--device", "auto", "--event-lag", "32"},
                                             {kTrace, "--capacity", "infx"},
                                             {kTrace, "--trace-device", "x"},
                                             {kTrace, "--scale", "0"},
                                             {kTrace, "--scale", "1.07x"},
                                             {kTrace, "--detail"},
                                             {kTrace, "--json", "-", "--stats", "-"}}) {
    const Outcome outcome = replay(words);
    INFO(outcome.err);
    CHECK(outcome.code == 2);
    CHECK(forebay::test::lines(outcome.err) == 1);
  }
}

TEST_CASE(
    "a key that needs memory is refused where there is none, with the devices that have some") {
  const std::string debug = FOREBAY_SOURCE_DIR "/configs/debug.json";
  const Outcome outcome = replay({kTrace, "--config", debug});
  CHECK(outcome.code == 2);
  CHECK(forebay::test::lines(outcome.err) == 1);
  CHECK(outcome.err.find("/pool/debug/fill: must be false on the simulated device") !=
        std::string::npos);
  CHECK(outcome.err.find("--device host or --device cuda") != std::string::npos);
}

TEST_CASE("a replay never writes over what it reads") {
  const Folder folder;
  const std::string text = "1,alloc,1,5,0\n";
  const std::string trace = folder.with("t.csv", text), config = folder.with("c.json", "{}");
  for (const char* option : {"--json", "--stats"}) {
    CHECK(replay({trace, option, folder.file("./t.csv")}).code == 2);
    CHECK(replay({trace, "--config", config, option, config}).code == 2);
  }
  CHECK(Folder::read(trace) == text);
  CHECK(Folder::read(config) == "{}");
}

TEST_CASE("a bad trace is one line, and exits with 1") {
  const Folder folder;
  const std::string cut = Folder::read(kTrace).substr(0, 30'000);
  for (const std::string& file :
       {folder.with("cut.csv.gz", cut), folder.with("empty", ""),
        folder.with("negative.csv", "1,alloc,1,-4,0\n"), kData + "samples/hostile.pickle",
        folder.file("missing"), std::string("/dev/zero")}) {
    const Outcome outcome = replay({file, "--json", "-"});
    INFO(outcome.err);
    CHECK(outcome.code == 1);
    CHECK(outcome.out.empty());
    CHECK(forebay::test::lines(outcome.err) == 1);
    CHECK(outcome.err.find(file) != std::string::npos);
  }
}

TEST_CASE("a bench records what it asks of its pool, and that replays") {
  const Folder folder;
  const std::string trace = folder.file("bench.trace");
  const Outcome bench = run_forebay({"bench", "reinit", "--device", "host", "--mode", "climb",
                                     "--iters", "12", "--inner-steps", "1", "--trace", trace});
  INFO(bench.err);
  CHECK(bench.code == 0);
  const Outcome outcome = replay({trace, "--json", "-"});
  INFO(outcome.err);
  CHECK(outcome.code == 0);
  const JsonDocument json(outcome.out, "output");
  CHECK(json.text("/format") == "forebay");
  CHECK(*json.count("/events") > 100U);
  CHECK(run_forebay({"bench", "reinit", "--pairs", "10", "--iters", "12", "--trace", trace}).code ==
        2);
}
