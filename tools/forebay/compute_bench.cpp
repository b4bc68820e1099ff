#include "tools/forebay/compute_bench.hpp"

#include <algorithm>
#include <cstdio>

#include "forebay/compute/backend.hpp"
#include "forebay/compute/prepare.hpp"
#include "forebay/compute/tensor.hpp"
#include "tools/forebay/clock.hpp"
#include "tools/forebay/command.hpp"
#include "tools/forebay/compute_cases.hpp"
#include "tools/forebay/device_timer.hpp"
#include "tools/forebay/measures.hpp"

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
    for (std::size_t i = 0; i < some.size(); ++i) some[i] = static_cast<float>(i % 1000) * 0.25F;
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
    const auto lock = compute::lock_backend(device_);
    const std::vector<ComputeCase> cases = compute_cases(elements_);
    const std::uint64_t bytes = static_cast<std::uint64_t>(cases.front().elements) * 4;
    add("copy", "driver", 2 * bytes,
        [&] { backend_.copy(arrays_[0], arrays_[2], bytes, device_.default_stream()); });
    for (const ComputeCase& one : cases) {
      for (const Tier& tier : tiers_of(backend_)) run_tier(one, tier);
      if (device_.info().kind != DeviceKind::host) continue;
      add(one.name, "loop", one.bytes, [&] {
        run_plain_loop(
            one, {static_cast<const float*>(arrays_[0]), static_cast<const float*>(arrays_[1])},
            static_cast<float*>(arrays_[2]));
      });
    }
    for (const ComputeCase& one : typed_cases(elements_)) {
      for (const Tier& tier : tiers_of(backend_)) run_tier(one, tier);
    }
    for (const ComputeRow& row : results_.rows) {
      if (row.name == "copy")
        results_.copy_gb_per_s = std::max(results_.copy_gb_per_s, row.gb_per_s);
    }
    for (ComputeRow& row : results_.rows) row.of_copy = row.gb_per_s / results_.copy_gb_per_s;
    for (const Tier& tier : tiers_of(backend_)) launch_cost(tier);
    return std::move(results_);
  }

  /// Through tensors, without the lock: `(x + 1).eval()` of a small x, allocation included.
  void tensor_cost(ComputeResults& results) const {
    const Tensor x = full({1024}, 1.0F, device_).eval();
    const auto step = [&] { (void)(x + 1.0F).eval(); };
    for (int i = 0; i < 100; ++i) step();
    (void)prepare(device_);
    results.launches.push_back({"tensor", cost_of(step)});
    report(results.launches.back());
  }

 private:
  void add(const std::string& name, const char* tier, std::uint64_t bytes,
           const std::function<void()>& enqueue) {
    (void)timer_->seconds(enqueue);  // once to warm up
    std::vector<double> times;
    for (std::uint64_t i = 0; i < work_.repeats; ++i) times.push_back(timer_->seconds(enqueue));
    ComputeRow row{name, tier, bytes, median(times)};
    row.gb_per_s = 1e-9 * static_cast<double>(bytes) / row.median_s;
    char line[128];
    std::snprintf(line, sizeof line, "%-14s %-10s %9.3f ms %9.1f GB/s", row.name.c_str(), tier,
                  1e3 * row.median_s, row.gb_per_s);
    report_(line);
    results_.rows.push_back(std::move(row));
  }

  [[nodiscard]] Binding binding_of(const ComputeCase& one) const {
    Binding binding{.extents = one.extents, .strides = one.strides, .scalars = one.scalars};
    for (std::size_t k = 0; k < one.program.leaves.size(); ++k) {
      binding.leaves.push_back(arrays_[k]);
    }
    binding.outputs.assign(one.program.outputs.size(), arrays_[2]);
    if (one.program.reduction) binding.reduction = arrays_[2];
    return binding;
  }

  void run_tier(const ComputeCase& one, const Tier& tier) {
    const Binding binding = binding_of(one);
    add(one.name, tier.name, one.bytes, [&] {
      if (tier.executor->run(one.program, binding, device_.default_stream()) != Readiness::done) {
        throw Error(std::string("the ") + tier.name + " tier cannot run " + one.name);
      }
    });
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

  void report(const LaunchRow& row) const {
    char line[96];
    std::snprintf(line, sizeof line, "launch %-18s %9.3f us", row.name.c_str(), row.us);
    report_(line);
  }

  void launch_cost(const Tier& tier) {
    ComputeCase small = compute_cases(8192)[2];
    small.extents = Dims{1024};
    const Binding binding = binding_of(small);
    const auto step = [&] {
      (void)tier.executor->run(small.program, binding, device_.default_stream());
    };
    step();
    results_.launches.push_back({tier.name, cost_of(step)});
    report(results_.launches.back());
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
  const std::uint64_t needed = (work.mib << 20) * 3;
  if (needed > device.free_bytes()) {
    throw UsageError("three arrays of " + std::to_string(work.mib) + " MiB do not fit into " +
                     device.id() + "; ask for less with --mib");
  }
  Bench bench(work, device, report);
  ComputeResults results = bench.run();
  bench.tensor_cost(results);
  return results;
}

}  // namespace forebay::tools
