// forebay bench alloc
#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "forebay/pool/error.hpp"
#include "runtime/size_text.hpp"
#include "tools/forebay/alloc_bench.hpp"
#include "tools/forebay/bench_run.hpp"
#include "tools/forebay/commands.hpp"
#include "tools/forebay/json_writer.hpp"
#include "tools/forebay/list_option.hpp"
#include "tools/forebay/progress.hpp"
#include "tools/forebay/simulated_device.hpp"

namespace forebay::tools {
namespace {

using Kind = AllocCase::Kind;

constexpr Kind kKinds[] = {Kind::pair,
                           Kind::churn,
                           Kind::lifo,
                           Kind::fifo,
                           Kind::own_streams,
                           Kind::shared_stream,
                           Kind::producer_consumer};
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40;
constexpr std::uint64_t kMostLive = 10'000'000;
constexpr std::uint64_t kMostThreads = 256;

/// A row that could not be measured.
struct LeftOut {
  std::string allocator;
  AllocCase what;
  std::string why;
};

class BenchAlloc final : public Command {
 public:
  const char* path() const noexcept override { return "bench alloc"; }
  const char* summary() const noexcept override {
    return "time pairs of allocate and free by size, live blocks, order and threads";
  }
  const char* example() const noexcept override {
    return "forebay bench alloc --device cuda --json alloc.json\n"
           "  A row is one loop of pairs; p50 and p99 are over batches of 16 pairs. On a CUDA\n"
           "  device the driver's allocators are rows beside ours. A row 'control' is the loop of\n"
           "  the row above, each thread with a (simulated) pool of its own.\n"
           "  forebay bench alloc --device simulated --cases pair,churn --live 100,1000000\n"
           "  The pool alone: no memory behind it, so any number of blocks fits.";
  }

  void declare(OptionSet& options) override {
    common_.device = "simulated";
    common_.declare(options, "simulated|auto|host|cuda[:N]", "whose pool to time");
    options.text("cases", cases_, "LIST", "which loops to run");
    options.text("bytes", bytes_, "LIST", "sizes of a pair without live blocks");
    options.text("live", live_, "LIST", "how many blocks live below a pair, and in churn");
    options.text("live-bytes", live_bytes_, "LIST", "sizes of those blocks and of the pair on top");
    options.text("churn-max", churn_max_, "LIST",
                 "the largest blocks of churn; its sizes begin at 256");
    options.text("order-bytes", order_bytes_, "LIST", "sizes of lifo and fifo");
    options.text("threads", threads_, "LIST",
                 "counts of threads; producer-consumer runs with the even ones");
    options.text("thread-bytes", thread_bytes_, "LIST", "sizes of the loops with threads");
    options.number("row-ms", row_ms_, {1, 600'000}, "milliseconds of measuring for each row");
    options.number("turns", turns_, {1, 1000},
                   "into how many turns that is cut, in which the allocators alternate");
    options.number("setup-s", setup_s_, {1, 3600},
                   "seconds for the live blocks of a row; beyond them it is left out");
  }

  ExitCode run() override {
    const std::vector<AllocCase> cases = planned();
    unsigned streams = 1;
    for (const AllocCase& what : cases) streams = std::max(streams, what.threads);
    BenchRun bench(common_, {}, [](const Config& config) { return SimulatedDevice::open(config); });
    Device& device = bench.device();

    std::vector<std::unique_ptr<Allocator>> allocators;
    allocators.push_back(
        std::make_unique<PoolAllocator>("forebay", device.shared_from_this(), streams));
    for (auto& other : driver_allocators(device, streams)) allocators.push_back(std::move(other));

    const AllocLimits limits{static_cast<double>(row_ms_) / 1e3 / static_cast<double>(turns_),
                             static_cast<double>(setup_s_)};
    Progress progress("alloc case", cases.size());
    bench.say(
        "allocator         case                    bytes       live threads    p50 ns    "
        "p99 ns     pairs/s");
    for (std::size_t i = 0; i < cases.size(); ++i) {
      progress.at(i);
      const std::vector<AllocRow> rows = measure(cases[i], allocators, limits, bench.config());
      progress.clear();
      for (const AllocRow& row : rows) {
        bench.say(line(row));
        rows_.push_back(row);
        rows_.back().times = {};
      }
    }
    progress.clear();
    for (const LeftOut& row : left_out_) {
      bench.say(row.allocator + " " + name_of(row.what.kind) + ", " + format_size(row.what.bytes) +
                ", " + std::to_string(row.what.live) + " live: left out: " + row.why);
    }
    bench.take_stats();
    bench.finish(json(device));
    if (rows_.empty()) throw Error("no row could be measured: " + left_out_.front().why);
    return kDone;
  }

 private:
  // The rows of a case. Allocators take turns, so that what disturbs the machine for a while
  // disturbs all of them.
  std::vector<AllocRow> measure(const AllocCase& what,
                                const std::vector<std::unique_ptr<Allocator>>& allocators,
                                const AllocLimits& limits, const Config& config) {
    const std::size_t count = allocators.size() + (has_control(what.kind) ? 1 : 0);
    std::vector<std::optional<AllocRow>> rows(count);
    std::vector<bool> failed(count);
    for (std::uint64_t turn = 0; turn < turns_; ++turn) {
      for (std::size_t i = 0; i < count; ++i) {
        if (failed[i]) continue;
        const char* name = i < allocators.size() ? allocators[i]->name() : "control";
        try {
          AllocRow row = i < allocators.size() ? run_case(*allocators[i], what, limits)
                                               : control(what, limits, config);
          if (rows[i]) {
            add_turn(*rows[i], row);
          } else {
            rows[i] = std::move(row);
          }
        } catch (const OutOfMemory& error) {
          leave_out(name, what, error.what());
          failed[i] = true;
        } catch (const TooSlow& error) {
          leave_out(name, what, error.what());
          failed[i] = true;
        }
        // The next one wants memory too.
        if (i < allocators.size() && allocators.size() > 1) allocators[i]->trim();
      }
    }
    std::vector<AllocRow> measured;
    for (std::size_t i = 0; i < count; ++i) {
      if (rows[i] && !failed[i]) measured.push_back(std::move(*rows[i]));
    }
    return measured;
  }

  std::vector<Kind> kinds() const {
    std::vector<Kind> kinds;
    for (const std::string& name : split_list(cases_)) {
      const auto* found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                       [&](Kind kind) { return name == name_of(kind); });
      if (found == std::end(kKinds)) {
        std::string all;
        for (const Kind kind : kKinds)
          all += (all.empty() ? "" : ", ") + std::string(name_of(kind));
        throw UsageError("--cases takes a list of " + all + ", not '" + name + "'");
      }
      kinds.push_back(*found);
    }
    return kinds;
  }

  std::vector<AllocCase> planned() const {
    const Range any_size{256, kMostBytes};
    const auto bytes = parse_sizes("--bytes", bytes_, any_size);
    const auto live = parse_counts("--live", live_, {1, kMostLive});
    const auto live_bytes = parse_sizes("--live-bytes", live_bytes_, any_size);
    const auto churn_max = parse_sizes("--churn-max", churn_max_, any_size);
    const auto order_bytes = parse_sizes("--order-bytes", order_bytes_, any_size);
    const auto threads = parse_counts("--threads", threads_, {1, kMostThreads});
    const auto thread_bytes = parse_sizes("--thread-bytes", thread_bytes_, any_size);
    std::vector<AllocCase> cases;
    for (const Kind kind : kinds()) {
      switch (kind) {
        case Kind::pair:
          for (const auto size : bytes) cases.push_back({kind, size, 0, 1});
          for (const auto size : live_bytes) {
            for (const auto count : live) cases.push_back({kind, size, count, 1});
          }
          break;
        case Kind::churn:
          for (const auto size : churn_max) {
            for (const auto count : live) cases.push_back({kind, size, count, 1});
          }
          break;
        case Kind::lifo:
        case Kind::fifo:
          for (const auto size : order_bytes) cases.push_back({kind, size, 0, 1});
          break;
        case Kind::own_streams:
        case Kind::shared_stream:
        case Kind::producer_consumer:
          for (const auto size : thread_bytes) {
            for (const auto count : threads) {
              if (kind == Kind::producer_consumer && count % 2 == 1) continue;
              cases.push_back({kind, size, 0, static_cast<unsigned>(count)});
            }
          }
          break;
      }
    }
    if (cases.empty()) {
      throw UsageError("nothing to run: producer-consumer needs an even number in --threads");
    }
    return cases;
  }

  // The policy is the same; sizes belong to the device that is timed, and so does what writes to
  // its memory. Events of a control are recorded at the same cost, but nobody reads them.
  static AllocRow control(const AllocCase& what, const AllocLimits& limits, Config config) {
    config.pool.capacity = config.pool.address_range = config.pool.handle_size = 0;
    config.pool.debug_fill = false;
    config.pool.debug_canary = 0;
    constexpr std::size_t kLeastRing = std::size_t{64} << 10;
    config.pool.trace_ring_bytes = std::min(config.pool.trace_ring_bytes, kLeastRing);
    std::vector<std::unique_ptr<Allocator>> pools;
    for (unsigned i = 0; i < what.threads; ++i) {
      pools.push_back(std::make_unique<PoolAllocator>("control", SimulatedDevice::open(config), 1));
    }
    return run_control(pools, what, limits);
  }

  void leave_out(const char* allocator, const AllocCase& what, const std::string& why) {
    left_out_.push_back({allocator, what, why});
  }

  static std::string line(const AllocRow& row) {
    char text[160];
    std::snprintf(text, sizeof text, "%-17s %-18s %10s %10llu %7u %9.1f %9.1f %11.4g",
                  row.allocator.c_str(), row.name.c_str(), format_size(row.bytes).c_str(),
                  static_cast<unsigned long long>(row.live), row.threads, row.p50_ns, row.p99_ns,
                  row.pairs_per_s);
    return text;
  }

  std::string json(const Device& device) const {
    JsonWriter out;
    out.begin_object()
        .field("bench", "alloc")
        .field("device", device.id())
        .field("device_name", device.info().name)
        .field("row_ms", row_ms_)
        .field("turns", turns_);
    out.key("rows").begin_array();
    for (const AllocRow& row : rows_) {
      out.begin_object()
          .field("allocator", row.allocator)
          .field("case", row.name)
          .field("bytes", row.bytes)
          .field("live", row.live)
          .field("threads", row.threads)
          .field("pairs", row.pairs)
          .field("p50_ns", row.p50_ns)
          .field("p99_ns", row.p99_ns)
          .field("pairs_per_s", row.pairs_per_s)
          .end_object();
    }
    out.end_array();
    out.key("left_out").begin_array();
    for (const LeftOut& row : left_out_) {
      out.begin_object()
          .field("allocator", row.allocator)
          .field("case", name_of(row.what.kind))
          .field("bytes", row.what.bytes)
          .field("live", row.what.live)
          .field("threads", row.what.threads)
          .field("why", row.why)
          .end_object();
    }
    out.end_array();
    return out.end_object().text();
  }

  BenchOptions common_;
  std::string cases_ = "pair,churn,lifo,fifo,own-streams,shared-stream,producer-consumer";
  std::string bytes_ = "256,4KiB,64KiB,256KiB,1MiB,2MiB,64MiB";
  std::string live_ = "100,10000,1000000";
  std::string live_bytes_ = "4KiB";
  std::string churn_max_ = "64KiB";
  std::string order_bytes_ = "4KiB,2MiB";
  std::string threads_ = "1,2,4,8,16";
  std::string thread_bytes_ = "4KiB,2MiB";
  std::uint64_t row_ms_ = 300;
  std::uint64_t turns_ = 4;
  std::uint64_t setup_s_ = 10;
  std::vector<AllocRow> rows_;
  std::vector<LeftOut> left_out_;
};

}  // namespace

std::unique_ptr<Command> make_bench_alloc() { return std::make_unique<BenchAlloc>(); }

}  // namespace forebay::tools
