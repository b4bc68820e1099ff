// The executor of the host: interprets programs block by block.
#pragma once

#include "compute/host/threads.hpp"
#include "forebay/compute/backend.hpp"

namespace forebay::compute::host {

/// Always ready. Blocks are distributed over threads; results do not depend on how.
class HostExecutor final : public Executor {
 public:
  HostExecutor(Threads& threads, KernelCounters& counters)
      : threads_(threads), counters_(counters) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "host"; }
  Readiness run(const Program& program, const Binding& binding, const Stream& stream) override;

 private:
  Threads& threads_;
  KernelCounters& counters_;
};

}  // namespace forebay::compute::host
