// A block goes to another process and back, on a fake libcuda.so.1.
#include "tests/support/cuda_share.hpp"

#include "pool/units.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_driver.hpp"

using namespace forebay;

namespace {

using pool::kMiB;

void shares(std::size_t before, std::size_t bytes) {
  test::FakeDriver driver;
  Config config = test::fake_config();
  config.pool.export_as = pool::PoolExport::fd;
  config.pool.handle_size = 2 * kMiB;
  const auto device = cuda::CudaDevice::open(driver.api(), 0, config);
  test::shares_with_a_process(*device, before, bytes, FOREBAY_FAKE_DRIVER_FOLDER);
  device->close();
  CHECK(driver.leaks() == "");
}

}  // namespace

TEST_CASE("a block of several handles is another process's memory too") {
  shares(3 * kMiB, 9 * kMiB + 512);
}

TEST_CASE("a small block takes its handle along") { shares(1024, 4096); }
