// The host executor on the programs that the emulator runs: both must compute what the prelude
// says, so they agree bit for bit in everything but the order of sums.
#include <cstring>

#include "compute/host/host_executor.hpp"
#include "forebay/runtime/runtime.hpp"
#include "tests/compute/cuda/program_case.hpp"
#include "tests/compute/cuda/sample_programs.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::test;

namespace {

/// Empty, or what the host computed that the case does not say.
std::string run_on_host(compute::Executor& executor, const ProgramCase& data,
                        const Stream& stream) {
  compute::Binding binding = data.binding();
  for (const CaseBuffer& leaf : data.leaves()) {
    binding.leaves.push_back(leaf.bytes.data() + leaf.offset);
  }
  std::vector<CaseBuffer> outputs;
  for (std::size_t k = 0; k < data.program().outputs.size(); ++k) {
    outputs.push_back(data.output_buffer(k));
  }
  for (CaseBuffer& output : outputs) {
    binding.outputs.push_back(output.bytes.data() + output.offset);
  }
  CaseBuffer reduction;
  if (data.program().reduction) {
    reduction = data.reduction_buffer();
    binding.reduction = reduction.bytes.data() + reduction.offset;
  }
  REQUIRE(executor.run(data.program(), binding, stream) == compute::Readiness::done);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (std::string wrong = data.check_output(k, outputs[k]); !wrong.empty()) return wrong;
  }
  return data.program().reduction ? data.check_reduction(reduction) : "";
}

}  // namespace

TEST_CASE("the host computes what every sample program says") {
  Runtime runtime = Runtime::create();
  Device& device = runtime.device("host");
  compute::host::Threads threads(2);
  compute::host::HostExecutor executor(threads, device.counters().kernels);
  const std::int64_t lengths[] = {1, 3, 7, 31, 100, 600, 1500};
  unsigned seed = 0;
  for (const NamedProgram& named : sample_programs()) {
    for (unsigned round = 0; round < 4; ++round) {
      std::mt19937 random(++seed);
      Dims extents;
      std::int64_t count = 1;
      for (unsigned d = 0; d < named.program.rank; ++d) {
        std::int64_t extent = lengths[random() % std::size(lengths)];
        while (count * extent > 20'000 && extent > 1) extent = (extent + 1) / 2;
        extents.push_back(extent);
        count *= extent;
      }
      const bool specials = !named.program.reduction && round % 2 == 0;
      const ProgramCase data(named.program, extents,
                             {.seed = seed, .specials = specials, .misaligned = round % 2});
      INFO(named.program.key());
      INFO(named.name << " over " << to_string(extents));
      CHECK(run_on_host(executor, data, device.default_stream()) == "");
    }
  }
}

TEST_CASE("ten thousand random programs on the host") {
  Runtime runtime = Runtime::create();
  Device& device = runtime.device("host");
  compute::host::Threads threads(2);
  compute::host::HostExecutor executor(threads, device.counters().kernels);
  for (unsigned seed = 1; seed <= 10'000; ++seed) {
    const compute::Program program = long_random_program(seed);
    const ProgramCase data = random_case(program, seed);
    const std::string wrong = run_on_host(executor, data, device.default_stream());
    if (wrong.empty()) continue;
    FAIL("seed " << seed << " over " << to_string(data.binding().extents) << ": " << wrong << "\n"
                 << program.key());
  }
}
