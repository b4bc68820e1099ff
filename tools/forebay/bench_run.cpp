#include "tools/forebay/bench_run.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>

namespace forebay::tools {
namespace {

/// Holds two million events.
constexpr std::size_t kTraceRing = std::size_t{64} << 20;

const BenchOptions& checked(const BenchOptions& options, bool simulated) {
  if (!spells_device(options.device) && !(simulated && options.device == "simulated")) {
    throw UsageError("--device takes " + std::string(simulated ? "simulated, " : "") +
                     "auto, host, cuda or cuda:N, not '" + options.device + "'");
  }
  if (options.detail && options.stats_file.empty()) {
    throw UsageError("--detail says what --stats writes; give --stats FILE with it");
  }
  return options;
}

Runtime make_runtime(const BenchOptions& options, const std::function<void(Config&)>& adjust) {
  Config config = load_config(options.config_file);
  if (!options.trace_file.empty() && config.pool.trace_ring_bytes == 0) {
    config.pool.trace_ring_bytes = kTraceRing;
  }
  if (adjust) adjust(config);
  return Runtime::create(config);
}

}  // namespace

void BenchOptions::declare(OptionSet& options, const char* devices, const char* of) {
  options.text("device", device, devices, of);
  options.text("config", config_file, "FILE", "configuration, see 'forebay config schema'");
  options.text("json", json_file, "FILE|-", "write the results as JSON; - is standard output");
  options.text("stats", stats_file, "FILE|-", "write the device's statistics (forebay.stats/1)");
  options.flag("detail", detail, kDetailHelp);
  options.text("trace", trace_file, "FILE|-",
               "write what the pool was asked, for 'forebay replay'; the last two million events "
               "unless pool.trace.ring_bytes says otherwise");
  options.text("leaks", leaks_file, "FILE|-",
               "write what is still live at the very end (forebay.leaks/1)");
}

bool spells_device(const std::string& id) {
  if (id == "auto" || id == "host" || id == "cuda") return true;
  return id.size() > 5 && id.size() <= 8 && id.rfind("cuda:", 0) == 0 &&
         std::all_of(id.begin() + 5, id.end(), [](unsigned char c) { return std::isdigit(c); });
}

Config load_config(const std::string& file) { return file.empty() ? Config{} : Config::load(file); }

BenchRun::BenchRun(const BenchOptions& options, const std::function<void(Config&)>& adjust,
                   const OpenSimulated& simulated)
    : json_(checked(options, simulated != nullptr).json_file),
      stats_(options.stats_file),
      trace_(options.trace_file),
      leaks_(options.leaks_file),
      runtime_(make_runtime((require_distinct({{"--json", json_, options.json_file},
                                               {"--stats", stats_, options.stats_file},
                                               {"--trace", trace_, options.trace_file},
                                               {"--leaks", leaks_, options.leaks_file}},
                                              {{"--config", options.config_file}}),
                             options),
                            adjust)),
      simulated_(options.device == "simulated" ? simulated(runtime_.config()) : nullptr),
      device_(simulated_ ? simulated_.get() : &runtime_.device(options.device)),
      detail_(options.detail ? StatsDetail::everything : StatsDetail::counters) {}

void BenchRun::say(const std::string& line) const {
  for (const OutputFile* file : {&json_, &stats_, &trace_, &leaks_}) {
    if (file->is_standard_output()) return;
  }
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

void BenchRun::take_stats() {
  if (stats_.wanted()) stats_text_ = device_->stats_json(detail_);
  if (trace_.wanted()) trace_text_ = pool::encode_trace(device_->pool().trace());
}

void BenchRun::finish(const std::string& json) {
  json_.write(json);
  stats_.write(stats_text_);
  trace_.write(trace_text_);
  if (!leaks_.wanted()) return;
  device_->close();
  leaks_.write(device_->leaks_json());
}

}  // namespace forebay::tools
