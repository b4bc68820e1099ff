#include "tools/forebay/compute_bench.hpp"

#include <algorithm>
#include <cstdio>

#include "forebay/compute/backend.hpp"
#include "forebay/compute/graph.hpp"
#include "forebay/compute/normalize.hpp"
#include "forebay/compute/prepare.hpp"
#include "forebay/compute/tensor.hpp"
#include "tools/forebay/clock.hpp"
#include "tools/forebay/command.hpp"
#include "tools/forebay/compute_cases.hpp"
#include "tools/forebay/device_timer.hpp"
#include "tools/forebay/measures.hpp"
#include "tools/forebay/plain_loops.hpp"

namespace forebay::tools {
namespace {

using compute::Binding;
using compute::Executor;
using compute::Readiness;

struct Tier {
  const char* name;
  Executor* executor;
};

/// The executors that are always ready, under the names of their tiers.
std::vector<Tier> tiers_of(const compute::Backend& backend) {
  std::vector<Tier> tiers;
  for (const auto& executor : backend.executors()) {
    if (executor->name() == "cuda-interpreter") tiers.push_back({"interpret", executor.get()});
    if (executor->name() == "cuda") tiers.push_back({"compile", executor.get()});
  }
  if (tiers.empty()) tiers.push_back({"executor", backend.executors().back().get()});
  return tiers;
}

/// Arrays of the device's pool: two that are read and one that is written.
class Arrays {
 public:
  Arrays(Device& device, compute::Backend& backend, std::uint64_t bytes, std::int64_t pitched)
      : pool_(device.pool()), stream_(device.default_stream()) {
    std::vector<float> some(std::size_t{1} << 20);
    // Never 0, so that two of them are a normal f64: denormal numbers may cost more.
    for (std::size_t i = 0; i < some.size(); ++i) {
      some[i] = static_cast<float>(i % 1000 + 1) * 0.25F;
    }
    const auto wide = static_cast<std::uint64_t>(pitched) * sizeof(float);
    for (void*& array : arrays_) {
      const std::uint64_t size = std::max(bytes, wide);
      array = pool_.allocate(size, stream_.id(), {.tag = "bench.compute"});
      for (std::uint64_t at = 0; at < size; at += some.size() * sizeof(float)) {
        const std::uint64_t left = (size - at) / sizeof(float);
        backend.upload(some.data(), DType::f32, static_cast<std::byte*>(array) + at, DType::f32,
                       std::min<std::uint64_t>(left, some.size()), stream_);
      }
    }
    stream_.synchronize();
  }
  ~Arrays() {
    for (void* const array : arrays_) pool_.deallocate(array, stream_.id());
  }
  Arrays(const Arrays&) = delete;
  Arrays& operator=(const Arrays&) = delete;
  [[nodiscard]] void* operator[](std::size_t i) const noexcept { return arrays_[i]; }

 private:
  pool::Pool pool_;
  Stream stream_;
  void* arrays_[3] = {};
};

class Bench {
 public:
  Bench(const ComputeBenchWork& work, Device& device,
        const std::function<void(const std::string&)>& report)
      : work_(work),
        device_(device),
        report_(report),
        backend_(compute::backend_of(device)),
        elements_(static_cast<std::int64_t>(work.mib << 20) / 4),
        arrays_(device, backend_, work.mib << 20, leaf_elements(elements_)),
        timer_(make_device_timer(device)) {}

  ComputeResults run() {
    run_cases();
    softmax_rows();
    for (const ComputeRow& row : results_.rows) {
      if (row.name == "copy")
        results_.copy_gb_per_s = std::max(results_.copy_gb_per_s, row.gb_per_s);
    }
    for (ComputeRow& row : results_.rows) row.of_copy = row.gb_per_s / results_.copy_gb_per_s;
    launch_costs();
    results_.planning = run_planning_bench(device_, 20 * work_.calls, work_.queued,
                                           [&](const PlanningRow& row) { report(row); });
    return std::move(results_);
  }

 private:
  /// One way to do what a case does.
  struct Way {
    const char* tier;
    std::function<void()> enqueue;
  };

  /// The ways take turns, so that whatever else slows the machine down meets all of them.
  void add(const std::string& name, std::uint64_t bytes, const std::vector<Way>& ways) {
    std::vector<std::vector<double>> times(ways.size());
    for (const Way& way : ways) (void)timer_->seconds(way.enqueue);  // once to warm up
    for (std::uint64_t i = 0; i < work_.repeats; ++i) {
      for (std::size_t k = 0; k < ways.size(); ++k) {
        times[k].push_back(timer_->seconds(ways[k].enqueue));
      }
    }
    for (std::size_t k = 0; k < ways.size(); ++k) {
      ComputeRow row{name, ways[k].tier, bytes, median(times[k])};
      row.gb_per_s = 1e-9 * static_cast<double>(bytes) / row.median_s;
      char line[128];
      std::snprintf(line, sizeof line, "%-14s %-10s %9.3f ms %9.1f GB/s", row.name.c_str(),
                    ways[k].tier, 1e3 * row.median_s, row.gb_per_s);
      report_(line);
      results_.rows.push_back(std::move(row));
    }
  }

  void run_cases() {
    const auto lock = compute::lock_backend(device_);
    const bool on_host = device_.info().kind == DeviceKind::host;
    const Stream stream = device_.default_stream();
    for (const ComputeCase& one : compute_cases(elements_)) {
      const Binding binding = binding_of(one);
      std::vector<Way> ways;
      if (one.name == "copy") {
        ways.push_back(
            {"driver", [&] { backend_.copy(arrays_[0], arrays_[2], one.bytes / 2, stream); }});
      }
      for (const Tier& tier : tiers_of(backend_)) {
        const auto run = [&one, &binding, tier, stream] {
          return tier.executor->run(one.program, binding, stream) == Readiness::done;
        };
        if (run()) {
          ways.push_back({tier.name, [run] { (void)run(); }});
        } else {
          report_(one.name + " is not for the tier " + tier.name);
        }
      }
      if (on_host && one.loop != nullptr) {
        ways.push_back({"loop", [&] { one.loop(one, binding.leaves, arrays_[2]); }});
      }
      if (on_host && one.name == "triad") {
        ways.push_back({"stream", [&] {
                          stream_triad(static_cast<double*>(arrays_[2]),
                                       static_cast<const double*>(arrays_[0]),
                                       static_cast<const double*>(arrays_[1]), 3.0,
                                       static_cast<std::size_t>(one.elements) / 2);
                        }});
      }
      add(one.name, one.bytes, ways);
    }
  }

  /// Several launches, so through tensors; read once and written once is what it is measured by.
  void softmax_rows() {
    const Tensor x = full({elements_ / kCaseRow, kCaseRow}, 0.5F, device_).eval();
    const auto step = [&] { (void)softmax(x).eval(); };
    for (int i = 0; i < 3; ++i) step();
    (void)prepare(device_);
    add("softmax_rows", static_cast<std::uint64_t>(x.numel()) * 8, {{"tensor", step}});
  }

  [[nodiscard]] Binding binding_of(const ComputeCase& one) const {
    Binding binding{.extents = one.extents, .strides = one.strides, .scalars = one.scalars};
    for (std::size_t k = 0; k < one.program.leaves.size(); ++k) {
      binding.leaves.push_back(static_cast<const std::byte*>(arrays_[k]) +
                               one.first *
                                   static_cast<std::int64_t>(size_of(one.program.leaves[k].type)));
    }
    binding.outputs.assign(one.program.outputs.size(), arrays_[2]);
    if (one.program.reduction) binding.reduction = arrays_[2];
    return binding;
  }

  /// Microseconds of the caller for each call; the device is idle before, and keeps up.
  template <typename Step>
  [[nodiscard]] double cost_of(Step&& step) const {
    constexpr std::uint64_t kBatch = 100;  // far fewer than a driver's queue holds
    std::vector<double> batches;
    for (std::uint64_t done = 0; done < work_.calls; done += kBatch) {
      device_.synchronize();
      const double start = now_s();
      for (std::uint64_t i = 0; i < kBatch; ++i) step();
      batches.push_back(1e6 * (now_s() - start) / kBatch);
    }
    device_.synchronize();
    return median(batches);
  }

  void add_launch(const std::string& name, double us) {
    results_.launches.push_back({name, us});
    char line[96];
    std::snprintf(line, sizeof line, "launch %-18s %9.3f us", name.c_str(), us);
    report_(line);
  }

  void report(const PlanningRow& row) const {
    char line[96];
    std::snprintf(line, sizeof line, "plan %6llu %-13s %9.3f us an operation, %.3f launches",
                  static_cast<unsigned long long>(row.queued), row.name.c_str(), row.us_per_op,
                  row.launches_per_op);
    report_(line);
  }

  void launch_costs() {
    // The launch alone: one thread that does nothing, without parameters.
    static constexpr compute::CustomKernel kNothing{
        .name = "nothing",
        .cuda_source = "extern \"C\" __global__ void nothing() {}",
        .block = 1,
        .host = [](std::span<void* const>, unsigned) {}};
    {
      const auto lock = compute::lock_backend(device_);
      const auto step = [&] { backend_.run(kNothing, {}, 1, device_.default_stream()); };
      step();
      add_launch("call", cost_of(step));
    }
    ComputeCase small = compute_case("chain1", 8192);
    small.extents = Dims{1024};
    const Binding binding = binding_of(small);
    for (const Tier& tier : tiers_of(backend_)) {
      const auto lock = compute::lock_backend(device_);
      const auto step = [&] {
        (void)tier.executor->run(small.program, binding, device_.default_stream());
      };
      step();
      add_launch(tier.name, cost_of(step));
    }
    const Tensor x = full({1024}, 1.0F, device_).eval();
    const auto step = [&] { (void)(x + 1.0F).eval(); };
    for (int i = 0; i < 100; ++i) step();
    (void)prepare(device_);
    add_launch("tensor", cost_of(step));
    graph_costs(x);
  }

  /// Operations in place, each on the result of the one before, until the device has done them.
  void graph_costs(const Tensor& x) {
    constexpr int kOperations = 100;
    const auto work = [&] {
      for (int i = 0; i < kOperations; ++i) assign(x, x + 1.0F);
    };
    work();
    (void)prepare(device_);
    const Graph graph = capture(device_, work);
    const auto cost = [&](const std::function<void()>& enqueue) {
      std::vector<double> rounds;
      for (std::uint64_t done = 0; done < work_.calls; done += kOperations) {
        device_.synchronize();
        const double start = now_s();
        enqueue();
        device_.synchronize();
        rounds.push_back(1e6 * (now_s() - start) / kOperations);
      }
      return median(rounds);
    };
    graph.replay();
    add_launch("eager", cost(work));
    add_launch("graph", cost([&] { graph.replay(); }));
  }

  const ComputeBenchWork& work_;
  Device& device_;
  const std::function<void(const std::string&)>& report_;
  compute::Backend& backend_;
  const std::int64_t elements_;
  Arrays arrays_;
  std::unique_ptr<DeviceTimer> timer_;
  ComputeResults results_;
};

}  // namespace

ComputeResults run_compute_bench(const ComputeBenchWork& work, Device& device,
                                 const std::function<void(const std::string&)>& report) {
  const std::uint64_t needed = (work.mib << 20) * 5;  // two more for softmax
  if (needed > device.free_bytes()) {
    throw UsageError("five arrays of " + std::to_string(work.mib) + " MiB do not fit into " +
                     device.id() + "; ask for less with --mib");
  }
  return Bench(work, device, report).run();
}

}  // namespace forebay::tools
