#include "tools/forebay/planning_bench.hpp"

#include <algorithm>

#include "forebay/compute/prepare.hpp"
#include "forebay/compute/tensor.hpp"
#include "tools/forebay/clock.hpp"
#include "tools/forebay/measures.hpp"

namespace forebay::tools {
namespace {

constexpr std::int64_t kElements = 16;

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

PlanningRow measure(Device& device, const Queue& queue, std::uint64_t queued,
                    std::uint64_t rounds) {
  std::vector<Tensor> inputs;
  for (std::uint64_t i = 0; i < queued; ++i) {
    inputs.push_back(full({kElements}, static_cast<float>(i), device).eval());
  }
  // Results of a round go before the next one begins; where they are listed is there already.
  std::vector<Tensor> results;
  results.reserve(queued);
  const auto round = [&] {
    results.clear();
    device.synchronize();
    const double start = now_s();
    queue.run(inputs, results);
    return 1e6 * (now_s() - start) / static_cast<double>(queued);
  };
  for (int i = 0; i < 3; ++i) (void)round();
  (void)prepare(device);
  const std::uint64_t before = launches_of(device);
  std::vector<double> times;
  for (std::uint64_t i = 0; i < rounds; ++i) times.push_back(round());
  const double operations = static_cast<double>(queued * rounds);
  return {queue.name, queued, median(times),
          static_cast<double>(launches_of(device) - before) / operations};
}

}  // namespace

std::vector<PlanningRow> run_planning_bench(Device& device, std::uint64_t operations,
                                            std::uint64_t most,
                                            const std::function<void(const PlanningRow&)>& report) {
  constexpr Queue kQueues[] = {{"independent", &independent}, {"chain", &chain}};
  std::vector<PlanningRow> rows;
  for (const Queue& queue : kQueues) {
    for (std::uint64_t queued = 16; queued <= most; queued *= 4) {
      const std::uint64_t rounds = std::max<std::uint64_t>(5, operations / queued);
      rows.push_back(measure(device, queue, queued, rounds));
      if (report) report(rows.back());
    }
  }
  return rows;
}

}  // namespace forebay::tools
