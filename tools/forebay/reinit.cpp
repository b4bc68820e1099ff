#include "tools/forebay/reinit.hpp"

#include <algorithm>
#include <optional>
#include <random>
#include <span>

#include "forebay/compute/prepare.hpp"
#include "tools/forebay/clock.hpp"
#include "tools/forebay/measures.hpp"
#include "tools/forebay/reinit_network.hpp"

namespace forebay::tools {
namespace {

const Widths kWidthsA = {64, 256, 256, 256, 32};
const Widths kWidthsB = {64, 128, 128, 16};
const Widths kWidthsC = {96, 256, 256, 256, 256, 64};

/// Everything random comes from this key: networks that stay have 0, 1 and 2 of it, the one of
/// iteration i has kFirstRecreated + i, and its jitter the same of another key.
constexpr std::uint64_t kKey = 0x666f7265626179;
constexpr std::uint64_t kJitterKey = kKey + 1;
constexpr std::uint64_t kFirstRecreated = 16;

ReinitCounters count(Device& device) {
  const pool::PoolStats pool = device.pool().stats();
  DeviceCounters& counters = device.counters();
  ReinitCounters now;
  now.live_blocks = pool.allocations.live;
  now.live_bytes = pool.requested.current;
  now.held_bytes = pool.held.current;
  now.tape_nodes = counters.autograd.live_nodes;
  now.events = counters.events;
  now.programs = counters.fusion.programs;
  now.plans = counters.fusion.plans;
  now.driver_calls = pool.driver_calls();
  if (device.info().kind == DeviceKind::cuda) {
    now.driver_calls += device.pinned_pool().stats().driver_calls();
  }
  now.compilations = counters.kernels.compiled;
  now.tensor_tables = counters.tensor_tables;
  now.driver_calls_all = device.driver_calls();
  return now;
}

/// The workload while it runs.
class Run {
 public:
  Run(const Reinit& work, Device& device) : work_(work), device_(device) {
    const Widths* const widths[] = {&kWidthsA, &kWidthsB, &kWidthsC};
    for (std::uint64_t i = 0; i < work.networks; ++i) {
      networks_.emplace_back(*widths[i], nn::derive_key(kKey, i), device);
    }
  }

  /// One outer iteration; returns the seconds of A's steps.
  double iterate(std::uint64_t iteration) {
    std::optional<Network> recreated;
    if (work_.climb) recreated.emplace(widths_of(iteration), key_of(iteration), device_);
    double steps_s = 0;
    for (std::uint64_t i = 0; i < work_.inner_steps; ++i) {
      steps_s += train_first(iteration >= kReinitWarmUp);
      for (Network& other : std::span(networks_).subspan(1)) train(other);
      if (recreated) train(*recreated);
    }
    if (recreated && work_.random_drops) {
      std::mt19937 random(static_cast<std::mt19937::result_type>(iteration));
      recreated->drop(random);
    }
    recreated.reset();
    device_.default_stream().synchronize();
    return steps_s;
  }

  [[nodiscard]] float loss() const { return networks_.front().loss(); }
  [[nodiscard]] double step_us() const { return step_us_.empty() ? 0 : median(step_us_); }
  [[nodiscard]] double train_step_us() const {
    return train_step_us_.empty() ? 0 : median(train_step_us_);
  }

 private:
  static std::uint64_t key_of(std::uint64_t iteration) {
    return nn::derive_key(kKey, kFirstRecreated + iteration);
  }
  /// The first one is not jittered: it is the largest, so that the peak lies in the warm-up.
  [[nodiscard]] Widths widths_of(std::uint64_t iteration) const {
    if (!work_.jitter || iteration == 0) return kWidthsA;
    return jittered(kWidthsA, nn::derive_key(kJitterKey, kFirstRecreated + iteration));
  }

  static void train(Network& network) {
    network.compute_gradients();
    network.step();
  }

  /// Trains A for one step, with nothing else on the stream; returns the seconds of `step`.
  double train_first(bool keep) {
    const Stream& stream = device_.default_stream();
    stream.synchronize();
    const double start = now_s();
    networks_.front().compute_gradients();
    stream.synchronize();
    const double before = now_s();
    networks_.front().step();
    if (!work_.enqueue_only) stream.synchronize();
    const double end = now_s();
    if (keep) {
      step_us_.push_back(1e6 * (end - before));
      train_step_us_.push_back(1e6 * (end - start));
    }
    return end - before;
  }

  const Reinit& work_;
  Device& device_;
  std::vector<Network> networks_;
  std::vector<double> step_us_;
  std::vector<double> train_step_us_;
};

}  // namespace

std::uint64_t reinit_first_iteration(std::uint64_t iters) noexcept {
  if (iters > 100) return 100;
  return iters > kReinitWarmUp ? kReinitWarmUp : 0;
}

std::vector<std::string> reinit_broken(const ReinitCounters& first, const ReinitCounters& last,
                                       bool climb, std::uint64_t handle_bytes) {
  std::vector<std::string> broken;
  const auto check = [&](const char* name, std::uint64_t before, std::uint64_t after, bool holds) {
    if (holds) return;
    broken.push_back(std::string(name) + " went from " + std::to_string(before) + " to " +
                     std::to_string(after));
  };
  const auto same = [&](const char* name, std::uint64_t before, std::uint64_t after) {
    check(name, before, after, before == after);
  };
  same("live_blocks", first.live_blocks, last.live_blocks);
  same("live_bytes", first.live_bytes, last.live_bytes);
  same("tape_nodes", first.tape_nodes, last.tape_nodes);
  same("events", first.events, last.events);
  same("programs", first.programs, last.programs);
  same("plans", first.plans, last.plans);
  same("driver_calls", first.driver_calls, last.driver_calls);
  same("compilations", first.compilations, last.compilations);
  if (!climb) same("tensor_tables", first.tensor_tables, last.tensor_tables);
  check("held_bytes", first.held_bytes, last.held_bytes,
        last.held_bytes <= first.held_bytes + handle_bytes);
  return broken;
}

ReinitResult run_reinit(const Reinit& work, Device& device, const ReinitReport& report,
                        const std::function<void()>& before_end) {
  ReinitResult result;
  result.first_iteration = std::min(reinit_first_iteration(work.iters), work.iters - 1);
  Run run(work, device);
  for (std::uint64_t i = 0; i < work.iters; ++i) {
    result.st_ms.push_back(1e3 * run.iterate(i));
    result.loss.push_back(run.loss());
    if (i == result.first_iteration) {
      (void)prepare(device);  // what is compiled in the background was asked for before
      result.first = count(device);
    }
    report(i, result.st_ms.back());
  }
  result.last = count(device);
  result.step_us = run.step_us();
  result.train_step_us = run.train_step_us();
  result.broken =
      reinit_broken(result.first, result.last, work.climb, device.pool().config().handle_size);
  before_end();
  return result;
}

}  // namespace forebay::tools
