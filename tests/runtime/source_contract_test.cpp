// Every source keeps the contract of sources, those of CUDA on the fake driver.
#include "tests/support/source_contract.hpp"

#include "forebay/pool/simulated.hpp"
#include "runtime/cuda/cuda_malloc_source.hpp"
#include "runtime/cuda/cuda_pinned_source.hpp"
#include "runtime/cuda/cuda_vmm_source.hpp"
#include "runtime/host/host_source.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_context.hpp"

using namespace forebay;
using test::keeps_source_contract;

namespace {
constexpr std::size_t kTotal = std::size_t{64} << 20;
}

TEST_CASE("host memory keeps the contract of sources") {
  host::HostSource source(kTotal);
  keeps_source_contract(source, true);
}

TEST_CASE("simulated memory keeps the contract of sources") {
  for (const bool virtual_memory : {true, false}) {
    pool::SimulatedSource source({.total = kTotal, .virtual_memory = virtual_memory});
    keeps_source_contract(source, true);
    CHECK(source.used_bytes() == 0);
  }
}

TEST_CASE("CUDA's memory keeps the contract of sources, whoever shares it") {
  test::FakeDriver::Options two;
  two.devices = 2;
  test::FakeContext fake(two);
  {
    cuda::CudaVmmSource mapped(fake.context);
    keeps_source_contract(mapped, true);
    cuda::CudaVmmSource shared(fake.context, {{1}, pool::PoolExport::fd});
    keeps_source_contract(shared, true);
    cuda::CudaMallocSource regions(fake.context);
    keeps_source_contract(regions, true);
    cuda::CudaMallocSource shared_regions(fake.context, {1});
    keeps_source_contract(shared_regions, true);
    cuda::CudaPinnedSource pinned(fake.context);
    keeps_source_contract(pinned, false);
  }
  CHECK(fake.driver.leaks() == "1 retained contexts");
}
