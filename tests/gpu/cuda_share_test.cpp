// A block goes to another process and back.
#include "tests/support/cuda_share.hpp"

#include <sys/mman.h>

#include "tests/support/catch.hpp"
#include "tests/support/device.hpp"

using namespace forebay;
using namespace forebay::test;

namespace {

std::shared_ptr<cuda::CudaDevice> open_exporting() {
  Config config;
  config.pool.export_as = pool::PoolExport::fd;
  config.pool.capacity = 1024 * kMiB;
  config.pool.handle_size = 2 * kMiB;
  return cuda::CudaDevice::open(driver::CudaApi::open(), 0, config);
}

}  // namespace

TEST_CASE("a block of several handles is another process's memory") {
  FOREBAY_REQUIRE_DEVICE();
  shares_with_a_process(*open_exporting(), 3 * kMiB, 37 * kMiB + 512, "");
}

TEST_CASE("a small block is another process's memory") {
  FOREBAY_REQUIRE_DEVICE();
  shares_with_a_process(*open_exporting(), 1024, 4096, "");
}

TEST_CASE("a file that is none of the driver's cannot be imported") {
  FOREBAY_REQUIRE_DEVICE();
  const auto device = open_exporting();
  ExportedBlock block{kMiB, 0, {}};
  block.pieces.push_back({FileDescriptor(memfd_create("mine", MFD_CLOEXEC)), 2 * kMiB});
  CHECK_THROWS_AS(device->import_block(block), DriverError);
}
