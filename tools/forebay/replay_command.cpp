// forebay replay TRACE
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "forebay/pool/error.hpp"
#include "forebay/runtime/runtime.hpp"
#include "runtime/simulated/simulated_device.hpp"
#include "runtime/size_text.hpp"
#include "tools/forebay/bench_run.hpp"
#include "tools/forebay/capacity_option.hpp"
#include "tools/forebay/commands.hpp"
#include "tools/forebay/output.hpp"
#include "tools/forebay/progress.hpp"
#include "tools/forebay/replay_report.hpp"
#include "tools/forebay/replay_run.hpp"
#include "tools/forebay/simulated_device.hpp"

namespace forebay::tools {
namespace {

constexpr const char* kSimulated = "simulated";
constexpr std::uint64_t kUsualLag = 32;
/// Of an --event-lag that was not given.
constexpr std::uint64_t kNoLag = ~std::uint64_t{0};

class ReplayCommand final : public Command {
 public:
  const char* path() const noexcept override { return "replay"; }
  const char* summary() const noexcept override {
    return "play a recorded trace of allocations on a pool";
  }
  const char* example() const noexcept override {
    return "forebay replay job.csv.gz --capacity 1.05x --json replay.json\n"
           "  How the pool serves the job with 5 % more memory than it asks for at its peak.\n"
           "  TRACE is forebay's own format, CSV, RMM's log or PyTorch's memory snapshot, plain "
           "or\n"
           "  gzip; see docs/traces.md.";
  }

  void declare(OptionSet& options) override {
    options.argument("TRACE", file_, true, "the trace");
    options.text("config", config_file_, "FILE", "configuration, see 'forebay config schema'");
    options.text("device", device_, "simulated|auto|host|cuda[:N]", "whose memory to allocate");
    options.text("capacity", capacity_, "SIZE|1.02x",
                 "the pool's capacity, or that many times the trace's peak of requested bytes");
    options.text("scale", scale_, "FACTOR",
                 "play the same job with every block so many times as large");
    options.number("event-lag", lag_, {0, 1U << 30},
                   "simulated: a recorded point passes so many events later (32)");
    options.number("repeat", work_.repeat, {1, 1'000'000}, "passes over the trace, on one pool");
    options.flag("touch", work_.touch,
                 "not simulated: stamp every block on its stream, check it before its free");
    options.text("trace-device", trace_device_, "N",
                 "whose events to play, where a snapshot has those of several devices");
    options.text("json", json_file_, "FILE|-", "write the results as JSON; - is standard output");
    options.text("stats", stats_file_, "FILE|-", "write the device's statistics (forebay.stats/1)");
    options.flag("detail", work_.detail, kDetailHelp);
  }

  ExitCode run() override {
    check_words();
    OutputFile json(json_file_);
    OutputFile stats(stats_file_);
    require_distinct({{"--json", json, json_file_}, {"--stats", stats, stats_file_}},
                     {{"TRACE", file_}, {"--config", config_file_}});
    Config config = load_config(config_file_);
    if (device_ == kSimulated) require_simulable(config);
    const pool::Trace trace = read();
    if (const auto capacity = parse_capacity(capacity_, trace.peak_requested)) {
      config.pool.capacity = capacity;
    }
    config.kernels.prepare = work_.touch;

    open(config);
    Progress progress("replaying event", trace.events.size() * work_.repeat);
    const ReplayResult result =
        run_replay(trace, *device_handle_, work_, [&](std::uint64_t done) { progress.at(done); });
    progress.clear();

    const ReplayReport report{file_, trace, *device_handle_, work_, event_lag(), result};
    json.write(replay_json(report));
    stats.write(result.stats_json);
    if (!json.is_standard_output() && !stats.is_standard_output()) {
      std::fputs(replay_table(report).c_str(), stdout);
    }
    if (const std::string failure = replay_failure(report); !failure.empty()) throw Error(failure);
    return kDone;
  }

 private:
  void check_words() const {
    if (device_ != kSimulated && !spells_device(device_)) {
      throw UsageError("--device takes simulated, auto, host, cuda or cuda:N, not '" + device_ +
                       "'");
    }
    if (device_ == kSimulated && work_.touch) {
      throw UsageError("--touch needs memory that is there; give --device host or cuda with it");
    }
    if (device_ != kSimulated && lag_ != kNoLag) {
      throw UsageError("--event-lag is for --device simulated; leave it out with --device " +
                       device_);
    }
    if (work_.detail && stats_file_.empty() && json_file_.empty()) {
      throw UsageError("--detail says what --stats writes; give --stats FILE with it");
    }
  }

  std::uint64_t event_lag() const { return lag_ == kNoLag ? kUsualLag : lag_; }

  pool::TraceOptions trace_options() const {
    pool::TraceOptions options;
    if (trace_device_.empty()) return options;
    char* end = nullptr;
    const unsigned long number = std::strtoul(trace_device_.c_str(), &end, 10);
    if (*end != 0 || trace_device_.size() > 4 || trace_device_.front() == '-') {
      throw UsageError("--trace-device takes a whole number from 0 to 9999, not '" + trace_device_ +
                       "'");
    }
    options.device = static_cast<std::uint32_t>(number);
    return options;
  }

  pool::Trace read() {
    if (!scale_.empty()) work_.scale = parse_factor("scale", scale_, {0.01, 100});
    pool::Trace trace = pool::read_trace(file_, trace_options());
    return work_.scale == 1 ? trace : pool::scaled(std::move(trace), work_.scale);
  }

  void open(const Config& config) {
    runtime_ = std::make_unique<Runtime>(Runtime::create(config));
    if (device_ == kSimulated) {
      simulated_ = simulated::SimulatedDevice::open(config, event_lag());
      work_.timeline = &simulated_->timeline();
      device_handle_ = simulated_.get();
    } else {
      device_handle_ = &runtime_->device(device_);
    }
  }

  std::string file_, config_file_, device_ = kSimulated, capacity_, scale_, trace_device_,
                                   json_file_, stats_file_;
  std::uint64_t lag_ = kNoLag;
  ReplayWork work_;
  std::unique_ptr<Runtime> runtime_;
  std::shared_ptr<simulated::SimulatedDevice> simulated_;
  Device* device_handle_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> make_replay() { return std::make_unique<ReplayCommand>(); }

}  // namespace forebay::tools
