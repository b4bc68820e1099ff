#include "compute/cuda/row_kernel.hpp"

#include "runtime/cuda/nvrtc_compiler.hpp"
#include "tests/compute/cuda/sample_rows.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::test;

TEST_CASE("row kernels compile") {
  const auto nvrtc = driver::NvrtcApi::open();
  for (const NamedRows& rows : sample_rows()) {
    for (const unsigned steps : rows.steps) {
      INFO(rows.name << " of " << steps);
      const std::string cubin = cuda::compile_cubin(
          *nvrtc, cuda::generate_row_kernel(rows.program, steps), rows.name, {"sm_90", false});
      CHECK(cubin.find(cuda::kRowEntry) != std::string::npos);
    }
  }
}
