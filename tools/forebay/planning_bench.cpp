#include "tools/forebay/planning_bench.hpp"

#include <algorithm>

#include "forebay/compute/prepare.hpp"
#include "forebay/compute/tensor.hpp"
#include "tools/forebay/clock.hpp"
#include "tools/forebay/measures.hpp"

namespace forebay::tools {
namespace {

constexpr std::int64_t kElements = 16;
/// Lengths take turns, so that what disturbs the machine for a while disturbs them alike.
constexpr std::uint64_t kTurns = 5;
/// In a turn a queue runs this often at least, so that a long one is as warm as a short one.
constexpr std::uint64_t kRounds = 8;

std::uint64_t launches_of(Device& device) {
  return device.counters().fusion.launches.load(std::memory_order_relaxed);
}

void independent(const std::vector<Tensor>& inputs, std::vector<Tensor>& results) {
  for (const Tensor& input : inputs) results.push_back(input + 1.0F);
  eval(results);
}

void chain(const std::vector<Tensor>& inputs, std::vector<Tensor>& results) {
  Tensor value = inputs[0];
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    value = i % 2 == 0 ? std::move(value) * 0.5F : std::move(value) + 1.0F;
  }
  value.eval();
  results.push_back(std::move(value));
}

struct Queue {
  const char* name;
  void (*run)(const std::vector<Tensor>& inputs, std::vector<Tensor>& results);
};

/// One length of a queue.
class Lane {
 public:
  Lane(Device& device, const Queue& queue, std::uint64_t queued)
      : device_(device), queue_(queue), queued_(queued) {
    for (std::uint64_t i = 0; i < queued; ++i) {
      inputs_.push_back(full({kElements}, static_cast<float>(i), device).eval());
    }
    // Results of a round go before the next one begins; where they are listed is there already.
    results_.reserve(queued);
    for (int i = 0; i < 3; ++i) round();
    times_.clear();
  }

  void run(std::uint64_t operations) {
    const std::uint64_t before = launches_of(device_);
    for (std::uint64_t done = 0; done < operations; done += queued_) round();
    launches_ += launches_of(device_) - before;
  }

  [[nodiscard]] PlanningRow row() const {
    const auto operations = static_cast<double>(queued_ * times_.size());
    return {queue_.name, queued_, median(times_), static_cast<double>(launches_) / operations};
  }

 private:
  void round() {
    results_.clear();
    device_.synchronize();
    const double start = now_s();
    queue_.run(inputs_, results_);
    times_.push_back(1e6 * (now_s() - start) / static_cast<double>(queued_));
  }

  Device& device_;
  const Queue& queue_;
  std::uint64_t queued_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> results_;
  std::vector<double> times_;  // microseconds an operation, of each round
  std::uint64_t launches_ = 0;
};

}  // namespace

std::vector<PlanningRow> run_planning_bench(Device& device, std::uint64_t operations,
                                            std::uint64_t most,
                                            const std::function<void(const PlanningRow&)>& report) {
  constexpr Queue kQueues[] = {{"independent", &independent}, {"chain", &chain}};
  std::vector<PlanningRow> rows;
  for (const Queue& queue : kQueues) {
    std::vector<Lane> lanes;
    for (std::uint64_t queued = 16; queued <= most; queued *= 4) {
      lanes.emplace_back(device, queue, queued);
    }
    (void)prepare(device);
    for (std::uint64_t turn = 0; turn < kTurns; ++turn) {
      for (Lane& lane : lanes) lane.run(std::max(operations / kTurns, kRounds * most));
    }
    for (const Lane& lane : lanes) {
      rows.push_back(lane.row());
      if (report) report(rows.back());
    }
  }
  return rows;
}

}  // namespace forebay::tools
