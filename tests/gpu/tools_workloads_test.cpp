// Both workloads on a device, through the command.
#include <cmath>

#include "forebay/runtime/runtime.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/device.hpp"
#include "tests/tools/child.hpp"
#include "tools/forebay/cold_start.hpp"
#include "tools/forebay/json_reader.hpp"
#include "tools/forebay/reinit.hpp"

using namespace forebay;
using namespace forebay::tools;
using forebay::test::Outcome;
using forebay::test::run_forebay;

namespace {

JsonDocument run_json(std::vector<std::string> words) {
  words.insert(words.end(), {"--json", "-"});
  const Outcome outcome = run_forebay(words);
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  return {outcome.out, "output"};
}

}  // namespace

TEST_CASE("cold-start sums exactly and its cold part is in the figures") {
  FOREBAY_REQUIRE_DEVICE();
  const JsonDocument json = run_json({"bench", "cold-start", "--device", "cuda", "--tensors", "128",
                                      "--loops", "2", "--fresh-cache"});
  CHECK(json.text("/device") == "cuda:0");
  for (const char* pass : {"/iterations/0/sum", "/iterations/1/sum"}) {
    CHECK(json.number(pass) == 115605504.0);
  }
  CHECK(*json.number("/cuinit_s") > 0);
  CHECK(*json.number("/context_s") > 0);
  CHECK(*json.number("/init_s") > *json.number("/cuinit_s") + *json.number("/context_s"));
#ifdef FOREBAY_HAVE_INTERPRETER
  CHECK(json.number("/iterations/0/compile_wait_s") == 0.0);
#else
  CHECK(*json.number("/iterations/0/compile_wait_s") > 0);
#endif
  CHECK(json.number("/iterations/1/compile_wait_s") == 0.0);
}

TEST_CASE("cold-start's path on a device sums what the buffers hold") {
  FOREBAY_REQUIRE_DEVICE();
  Runtime runtime = Runtime::create();
  ColdStart work;
  work.tensors = 7;
  work.loops = 2;
  work.shape = Dims{5, 41, 83};
  work.clone = GENERATE(false, true);
  work.through_host = GENERATE(false, true);
  auto sources = make_sources(work);
  float expected = 0;
  for (std::size_t k = 0; k < sources.size(); ++k) {
    for (std::size_t j = 0; j < sources[k].size(); ++j) {
      sources[k][j] = static_cast<std::int32_t>((31 * j + k) % 7);
      expected += static_cast<float>(sources[k][j] + 1);
    }
  }
  run_cold_start(work, sources, runtime.device("cuda"),
                 [&](std::uint64_t, const ColdStartPass& pass) { CHECK(pass.sum == expected); });
}

TEST_CASE("reinit holds on a device, and re-creation changes no loss") {
  FOREBAY_REQUIRE_DEVICE();
  const std::vector<std::string> words = {"bench",      "reinit", "--device",      "cuda",
                                          "--iters",    "110",    "--inner-steps", "4",
                                          "--networks", "2"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = words;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const JsonDocument flat = run_json(with({"--mode", "flat"}));
  const JsonDocument climb = run_json(with({"--mode", "climb"}));
  const JsonDocument jitter =
      run_json(with({"--mode", "climb", "--jitter", "--drop-order", "random", "--enqueue-only"}));
  CHECK(climb.json("/loss") == flat.json("/loss"));
  CHECK(jitter.json("/loss") == flat.json("/loss"));
  CHECK(*flat.number("/loss/109") < *flat.number("/loss/0"));
  for (const JsonDocument* run : {&flat, &climb, &jitter}) {
    CHECK(run->flag("/holds") == true);
    CHECK(run->count("/counters_last/live_blocks") == flat.count("/counters_last/live_blocks"));
  }
}

TEST_CASE("a device and the host train alike") {
  FOREBAY_REQUIRE_DEVICE();
  Reinit work;
  work.iters = 3;
  work.inner_steps = 3;
  const auto losses = [&](const char* device) {
    Runtime runtime = Runtime::create();
    return run_reinit(
               work, runtime.device(device), [](std::uint64_t, double) {}, [] {})
        .loss;
  };
  const std::vector<float> host = losses("host");
  const std::vector<float> cuda = losses("cuda");
  for (std::size_t i = 0; i < host.size(); ++i) CHECK(std::abs(cuda[i] - host[i]) < 1e-3F);
}

TEST_CASE("a device that is not there is named, with those that are") {
  FOREBAY_REQUIRE_DEVICE();
  const Outcome outcome = run_forebay({"bench", "cold-start", "--device", "cuda:77"});
  CHECK(outcome.code == 1);
  CHECK(test::lines(outcome.err) == 1);
  CHECK(outcome.err.find("cuda:77") != std::string::npos);
}
