// forebay bench compute
#include "tools/forebay/bench_run.hpp"
#include "tools/forebay/commands.hpp"
#include "tools/forebay/compute_bench.hpp"
#include "tools/forebay/json_writer.hpp"

namespace forebay::tools {
namespace {

class BenchCompute final : public Command {
 public:
  const char* path() const noexcept override { return "bench compute"; }
  const char* summary() const noexcept override {
    return "bandwidth of programs in each tier, as a share of a copy's; what launches and plans "
           "cost";
  }
  const char* example() const noexcept override {
    return "forebay bench compute --mib 64 --repeats 5 --json compute.json\n"
           "  One line a case and tier: 'add   compile   0.123 ms   4000.0 GB/s'.";
  }

  void declare(OptionSet& options) override {
    options.number("mib", work_.mib, {1, 1U << 16}, "size of each of five arrays, in MiB");
    options.number("repeats", work_.repeats, {1, 1000}, "runs of each case; the median counts");
    options.number("calls", work_.calls, {100, 1U << 20},
                   "launches for each figure of what one costs");
    options.number("queued", work_.queued, {16, 1U << 20},
                   "operations in the longest queue that is planned");
    common_.declare(options);
  }

  ExitCode run() override {
    BenchRun bench(common_);
    const ComputeResults results =
        run_compute_bench(work_, bench.device(), [&](const std::string& line) { bench.say(line); });
    bench.take_stats();
    bench.finish(json(bench.device(), results));
    return kDone;
  }

 private:
  [[nodiscard]] std::string json(const Device& device, const ComputeResults& results) const {
    JsonWriter out;
    out.begin_object()
        .field("bench", "compute")
        .field("device", device.id())
        .field("device_name", device.info().name)
        .field("mib", work_.mib)
        .field("repeats", work_.repeats)
        .field("copy_gb_per_s", results.copy_gb_per_s);
    out.key("rows").begin_array();
    for (const ComputeRow& row : results.rows) {
      out.begin_object()
          .field("case", row.name)
          .field("tier", row.tier)
          .field("bytes", row.bytes)
          .field("median_s", row.median_s)
          .field("gb_per_s", row.gb_per_s)
          .field("of_copy", row.of_copy)
          .end_object();
    }
    out.end_array().key("launches").begin_array();
    for (const LaunchRow& row : results.launches) {
      out.begin_object().field("what", row.name).field("us", row.us).end_object();
    }
    out.end_array().key("planning").begin_array();
    for (const PlanningRow& row : results.planning) {
      out.begin_object()
          .field("what", row.name)
          .field("queued", row.queued)
          .field("us_per_op", row.us_per_op)
          .field("launches_per_op", row.launches_per_op)
          .end_object();
    }
    return out.end_array().end_object().text();
  }

  ComputeBenchWork work_;
  BenchOptions common_;
};

}  // namespace

std::unique_ptr<Command> make_bench_compute() { return std::make_unique<BenchCompute>(); }

}  // namespace forebay::tools
