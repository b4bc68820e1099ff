#include "compute/cuda/codegen.hpp"

#include <thread>

#include "compute/cuda/tile_plan.hpp"
#include "compute/gather.hpp"
#include "compute/strided_copy.hpp"
#include "runtime/cuda/nvrtc_compiler.hpp"
#include "tests/compute/cuda/sample_programs.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::test;

namespace {

void compile(const std::vector<NamedProgram>& programs, const std::string& architecture) {
  static const auto nvrtc = driver::NvrtcApi::open();
  for (const NamedProgram& named : programs) {
    INFO(named.name << " for " << architecture);
    const std::string cubin = cuda::compile_cubin(*nvrtc, cuda::generate_kernel(named.program),
                                                  named.name, {architecture, false});
    CHECK(cubin.find(cuda::kernel_entry(named.program)) != std::string::npos);
  }
}

/// Those that walk by tiles, of the programs that may.
void compile_tiled(const std::vector<NamedProgram>& programs, const std::string& architecture) {
  static const auto nvrtc = driver::NvrtcApi::open();
  for (const NamedProgram& named : programs) {
    if (!cuda::may_tile(named.program)) continue;
    INFO(named.name << " by tiles for " << architecture);
    CHECK_FALSE(cuda::compile_cubin(
                    *nvrtc, cuda::generate_kernel(named.program, staged_sample(named.program)),
                    named.name, {architecture, false})
                    .empty());
  }
}

std::vector<NamedProgram> chosen(const std::vector<std::string>& names) {
  std::vector<NamedProgram> found;
  for (NamedProgram& named : sample_programs()) {
    for (const std::string& name : names) {
      if (named.name == name) found.push_back(std::move(named));
    }
  }
  REQUIRE(found.size() == names.size());
  return found;
}

}  // namespace

TEST_CASE("every form of program compiles") {
  std::vector<NamedProgram> forms;
  unsigned drawn = 0;
  for (NamedProgram& named : sample_programs()) {
    // Operations have a case of their own; of the random ones a third says as much.
    if (named.name.starts_with("operations")) continue;
    if (named.name.starts_with("random") && ++drawn % 3 != 0) continue;
    forms.push_back(std::move(named));
  }
  compile(forms, "sm_90");
  compile_tiled(forms, "sm_90");
}

TEST_CASE("programs at the limits and one below compile, linear and strided") {
  compile(limit_programs(), "sm_90");
}

TEST_CASE("every operation compiles for the architecture with the fewest instructions") {
  compile(operation_programs(compute::Access::linear), "sm_80");
}

TEST_CASE("kernels compile for every architecture that is served") {
  for (const char* architecture : {"sm_80", "sm_86", "sm_89", "sm_100", "sm_120"}) {
    compile(chosen({"sum_stored", "types_linear", "widest_reduction", "argmax_of_bf16"}),
            architecture);
    compile_tiled(chosen({"turned_f16"}), architecture);
  }
}

TEST_CASE("the kernels of gather, arange and strided copies compile for every size of elements") {
  const auto nvrtc = driver::NvrtcApi::open();
  std::vector<const compute::CustomKernel*> kernels{&compute::positions_kernel()};
  for (const std::size_t bytes : {1U, 2U, 4U, 8U}) {
    kernels.push_back(&compute::gather_kernel(bytes));
    kernels.push_back(&compute::strided_copy_kernel(bytes));
  }
  for (const compute::CustomKernel* kernel : kernels) {
    const std::string cubin = cuda::compile_cubin(*nvrtc, cuda::with_prelude(kernel->cuda_source),
                                                  kernel->name, {"sm_80", false});
    CHECK(cubin.find(kernel->name) != std::string::npos);
  }
}

TEST_CASE("a kernel is a function of the program alone") {
  for (const NamedProgram& named : chosen({"sum_rows", "random3"})) {
    const compute::Program copy = named.program;
    CHECK(cuda::generate_kernel(copy) == cuda::generate_kernel(named.program));
  }
  const auto programs = chosen({"sum_rows", "sum_columns"});
  CHECK(cuda::generate_kernel(programs[0].program) != cuda::generate_kernel(programs[1].program));
}

TEST_CASE("scalars are parameters") {
  for (const NamedProgram& named : chosen({"sum_stored"})) {
    CHECK(cuda::generate_kernel(named.program).find("a.scalar0") != std::string::npos);
  }
}
