#include "compute/host/host_executor.hpp"

#include <algorithm>

#include "compute/host/block_run.hpp"
#include "compute/host/reduction.hpp"

namespace forebay::compute::host {
namespace {

// What a thread takes at a time: enough to hide the hand-over, small enough to share evenly.
constexpr std::uint64_t kItem = 64 * kBlock;

void map(const Program& program, const BlockProgram& compiled, const Binding& binding,
         Threads& threads) {
  std::uint64_t elements = 1;
  for (const std::int64_t extent : binding.extents) elements *= static_cast<std::uint64_t>(extent);
  threads.run((elements + kItem - 1) / kItem, [&](std::size_t item) {
    BlockRun run(program, compiled, binding);
    const std::uint64_t end = std::min((item + 1) * kItem, elements);
    std::uint64_t n = 0;
    for (std::uint64_t index = item * kItem; index < end; index += n) {
      n = std::min<std::uint64_t>(run.most(), end - index);
      run.block(index, n);
    }
  });
}

}  // namespace

Readiness HostExecutor::run(const Program& program, const Binding& binding,
                            const Stream& /*stream*/) {
  const BlockProgram* compiled = program.prepared.find<BlockProgram>(this);
  if (compiled == nullptr) {
    compiled = &program.prepared.keep(this, std::make_shared<BlockProgram>(program));
  }
  if (program.reduction) {
    reduce(program, *compiled, binding, threads_);
  } else {
    map(program, *compiled, binding, threads_);
  }
  count(counters_.interpreted_launches);
  return Readiness::done;
}

}  // namespace forebay::compute::host
