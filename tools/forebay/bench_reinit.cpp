// forebay bench reinit
#include <cstdio>

#include "forebay/pool/error.hpp"
#include "tools/forebay/bench_run.hpp"
#include "tools/forebay/commands.hpp"
#include "tools/forebay/json_writer.hpp"
#include "tools/forebay/measures.hpp"
#include "tools/forebay/progress.hpp"
#include "tools/forebay/reinit.hpp"
#include "tools/forebay/reinit_pairs.hpp"

namespace forebay::tools {
namespace {

void write_counters(JsonWriter& out, const char* name, const ReinitCounters& counters) {
  out.key(name).begin_object();
#define FOREBAY_COUNTER(field_name) out.field(#field_name, counters.field_name);
  FOREBAY_REINIT_COUNTERS(FOREBAY_COUNTER)
#undef FOREBAY_COUNTER
  out.end_object();
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "; ") + line;
  return text;
}

class BenchReinit final : public Command {
 public:
  const char* path() const noexcept override { return "bench reinit"; }
  const char* summary() const noexcept override {
    return "train a network while others are created and dropped beside it";
  }
  const char* example() const noexcept override {
    return "forebay bench reinit --mode climb --iters 300 --json climb.json\n"
           "  Each iteration prints 'iter=0 st=1.234ms', the time of the network's own steps.\n"
           "  forebay bench reinit --pairs 10 --iters 300 --json pairs.json\n"
           "  Ten flat and ten climb runs, and whether time climbs more in the latter.";
  }

  void declare(OptionSet& options) override {
    options.choice("mode", mode_, {"flat", "climb"},
                   "climb re-creates one more network in every iteration; --pairs runs both");
    options.number("iters", work_.iters, {1, 1U << 24}, "outer iterations");
    options.number("networks", work_.networks, {1, 3}, "networks that stay");
    options.number("inner-steps", work_.inner_steps, {1, 1U << 20},
                   "training steps of each network in an iteration");
    options.flag("jitter", work_.jitter, "vary the widths of the re-created network");
    options.choice("drop-order", drop_order_, {"declared", "random"},
                   "in which order the parts of the re-created network go");
    options.number("pairs", pairs_, {10, 1000},
                   "run so many pairs of flat and climb, compare them");
    options.flag("enqueue-only", work_.enqueue_only,
                 "time the steps without the wait at their end");
    common_.declare(options);
  }

  ExitCode run() override {
    work_.random_drops = drop_order_ == "random";
    if (pairs_ > 0) return run_pairs();
    work_.climb = mode_ == "climb";
    return run_one();
  }

 private:
  ExitCode run_one() {
    BenchRun bench(common_);
    Progress progress("reinit iteration", work_.iters);
    const ReinitResult result = run_reinit(
        work_, bench.device(),
        [&](std::uint64_t iteration, double st_ms) {
          char line[64];
          std::snprintf(line, sizeof line, "iter=%llu st=%.3fms",
                        static_cast<unsigned long long>(iteration), st_ms);
          progress.clear();
          bench.say(line);
          progress.at(iteration + 1);
        },
        [&] { bench.take_stats(); });
    progress.clear();
    bench.finish(json(bench.device(), result));
    if (result.broken.empty()) return kDone;
    throw Error("what must hold does not, iteration " + std::to_string(result.first_iteration) +
                " against the last: " + joined(result.broken));
  }

  ExitCode run_pairs() {
    if (!common_.stats_file.empty() || common_.detail || !common_.trace_file.empty() ||
        !common_.leaks_file.empty()) {
      throw UsageError(
          "--stats, --detail, --trace and --leaks belong to a single run; leave them out with "
          "--pairs");
    }
    if (work_.iters < kReinitWarmUp + 2) {
      throw UsageError("--pairs compares iterations after the warm-up; give --iters 12 or more");
    }
    OutputFile json_file(common_.json_file);
    require_distinct({{"--json", json_file, common_.json_file}},
                     {{"--config", common_.config_file}});
    const bool quiet = json_file.is_standard_output();
    Progress progress("reinit pair", pairs_);
    std::vector<ReinitPair> pairs;
    std::vector<double> differences;
    std::vector<std::string> faults;
    for (std::uint64_t i = 0; i < pairs_; ++i) {
      progress.at(i);
      pairs.push_back(run_pair(child_words(), i % 2 == 1));
      differences.push_back(pairs.back().difference);
      for (const std::string& fault : pair_faults(pairs.back())) {
        faults.push_back("pair " + std::to_string(i) + ": " + fault);
      }
      progress.clear();
      if (quiet) continue;
      std::printf("pair=%llu difference=%.2f%%\n", static_cast<unsigned long long>(i),
                  differences.back());
      std::fflush(stdout);
    }
    const PairsVerdict verdict = judge_pairs(differences);
    if (!quiet) {
      std::printf("median=%.2f%% interval=[%.2f%%, %.2f%%] %s\n", verdict.median_difference,
                  verdict.interval.low, verdict.interval.high,
                  verdict.flat_enough ? "time does not climb with re-creation"
                                      : "time climbs differently with re-creation");
    }
    json_file.write(pairs_json(pairs, verdict, faults));
    if (faults.empty()) return kDone;
    throw Error("what must hold does not: " + joined(faults));
  }

  /// What a child of --pairs is asked, but its mode and where its results go.
  std::vector<std::string> child_words() const {
    std::vector<std::string> words = {"bench",         "reinit",
                                      "--iters",       std::to_string(work_.iters),
                                      "--networks",    std::to_string(work_.networks),
                                      "--inner-steps", std::to_string(work_.inner_steps),
                                      "--drop-order",  drop_order_,
                                      "--device",      common_.device};
    if (work_.jitter) words.emplace_back("--jitter");
    if (work_.enqueue_only) words.emplace_back("--enqueue-only");
    if (!common_.config_file.empty()) {
      words.insert(words.end(), {"--config", common_.config_file});
    }
    return words;
  }

  std::string json(const Device& device, const ReinitResult& result) const {
    JsonWriter out;
    out.begin_object()
        .field("bench", "reinit")
        .field("mode", mode_)
        .field("device", device.id())
        .field("device_name", device.info().name)
        .field("iters", work_.iters)
        .field("networks", work_.networks)
        .field("inner_steps", work_.inner_steps)
        .field("jitter", work_.jitter)
        .field("drop_order", drop_order_)
        .field("enqueue_only", work_.enqueue_only)
        .field("st_ms", result.st_ms);
    out.key("climb_percent");
    if (const auto climb = climb_percent(result.st_ms, kReinitWarmUp)) {
      out.value(*climb);
    } else {
      out.null();
    }
    out.field("step_us", result.step_us)
        .field("train_step_us", result.train_step_us)
        .field("loss", result.loss)
        .field("counters_first_iteration", result.first_iteration);
    write_counters(out, "counters_first", result.first);
    write_counters(out, "counters_last", result.last);
    out.field("holds", result.broken.empty()).field("broken", result.broken);
    return out.end_object().text();
  }

  Reinit work_;
  std::string mode_ = "flat";
  std::string drop_order_ = "declared";
  std::uint64_t pairs_ = 0;
  BenchOptions common_;
};

}  // namespace

std::unique_ptr<Command> make_bench_reinit() { return std::make_unique<BenchReinit>(); }

}  // namespace forebay::tools
