// forebay bench cold-start
#include <cstdio>
#include <cstdlib>

#include "forebay/compute/prepare.hpp"
#include "tools/forebay/bench_run.hpp"
#include "tools/forebay/clock.hpp"
#include "tools/forebay/cold_start.hpp"
#include "tools/forebay/commands.hpp"
#include "tools/forebay/json_writer.hpp"
#include "tools/forebay/measures.hpp"
#include "tools/forebay/progress.hpp"
#include "tools/forebay/shape_option.hpp"

namespace forebay::tools {
namespace {

/// What came before the first pass, in seconds.
struct Beginning {
  double init_s = 0;  ///< everything since the process started but filling the source buffers
  double fill_s = 0;
};

std::string line_of(std::uint64_t i, const ColdStartPass& pass) {
  char line[128];
  std::snprintf(line, sizeof line, "i: %llu, sum: %.0f, elapsed: %.4f",
                static_cast<unsigned long long>(i), static_cast<double>(pass.sum), pass.elapsed_s);
  return line;
}

class BenchColdStart final : public Command {
 public:
  const char* path() const noexcept override { return "bench cold-start"; }
  const char* summary() const noexcept override {
    return "upload, add one and sum many tensors, from the first pass on";
  }
  const char* example() const noexcept override {
    return "forebay bench cold-start --tensors 16 --loops 3 --json -\n"
           "  Each pass prints 'i: 0, sum: 14450688, elapsed: 0.0123', the time in seconds.";
  }

  void declare(OptionSet& options) override {
    options.number("tensors", work_.tensors, {1, 1U << 20}, "how many tensors");
    options.text("shape", shape_, "D0,D1,…", "shape of each");
    options.number("loops", work_.loops, {1, 1U << 20}, "how many passes");
    options.flag("clone", work_.clone, "copy each buffer before its upload; the copy counts");
    options.flag("through-host", work_.through_host,
                 "read each result back and upload it again before its sum");
    options.flag(
        "fresh-cache", fresh_cache_,
        "start with no compiled kernel: the caches of forebay, driver and compiler are off");
    common_.declare(options);
  }

  ExitCode run() override {
    work_.shape = parse_shape(shape_);
    BenchRun bench(common_, [this](Config& config) {
      if (!fresh_cache_) return;
      ::setenv("CUDA_CACHE_DISABLE", "1", 1);  // read by cuInit, which comes later
      config.kernels.compiler_cache = false;
      config.kernels.cache.enabled = false;
    });
    (void)prepare(bench.device());
    Beginning beginning;
    const double fill_start = now_s();
    const auto sources = make_sources(work_);
    const double fill_end = now_s();
    beginning.fill_s = fill_end - fill_start;
    beginning.init_s = fill_start - process_start_s();

    std::vector<ColdStartPass> passes;
    Progress progress("cold-start pass", work_.loops);
    progress.at(0);
    run_cold_start(work_, sources, bench.device(), [&](std::uint64_t i, const ColdStartPass& pass) {
      passes.push_back(pass);
      progress.clear();
      bench.say(line_of(i, pass));
      if (i + 1 == work_.loops) {
        bench.take_stats();
      } else {
        progress.at(i + 1);
      }
    });
    bench.finish(json(bench.device(), beginning, passes));
    return kDone;
  }

 private:
  std::string json(const Device& device, const Beginning& beginning,
                   const std::vector<ColdStartPass>& passes) const {
    JsonWriter out;
    out.begin_object()
        .field("bench", "cold-start")
        .field("device", device.id())
        .field("device_name", device.info().name)
        .field("tensors", work_.tensors)
        .field("shape", std::vector<std::int64_t>(work_.shape.begin(), work_.shape.end()))
        .field("clone", work_.clone)
        .field("through_host", work_.through_host)
        .field("fresh_cache", fresh_cache_);
    std::vector<double> after_first;
    out.key("iterations").begin_array();
    for (std::size_t i = 0; i < passes.size(); ++i) {
      const ColdStartPass& pass = passes[i];
      if (i > 0) after_first.push_back(pass.elapsed_s);
      out.begin_object()
          .field("i", i)
          .field("sum", static_cast<double>(pass.sum))
          .field("elapsed_s", pass.elapsed_s)
          .field("upload_s", pass.upload_s)
          .field("add_sum_s", pass.add_sum_s)
          .field("compile_wait_s", pass.compile_wait_s)
          .end_object();
    }
    out.end_array();
    if (after_first.empty()) {
      out.key("steady_s").null().key("first_over_steady").null();
    } else {
      const double steady = median(after_first);
      out.field("steady_s", steady).field("first_over_steady", passes[0].elapsed_s / steady);
    }
    out.field("init_s", beginning.init_s)
        .field("cuinit_s", device.info().cuinit_s)
        .field("context_s", device.info().context_s)
        .field("fill_s", beginning.fill_s);
    return out.end_object().text();
  }

  ColdStart work_;
  std::string shape_ = "32,4,84,84";
  bool fresh_cache_ = false;
  BenchOptions common_;
};

}  // namespace

std::unique_ptr<Command> make_bench_cold_start() { return std::make_unique<BenchColdStart>(); }

}  // namespace forebay::tools
