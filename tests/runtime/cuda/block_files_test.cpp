#include "runtime/cuda/block_files.hpp"

#include <sys/mman.h>

#include <cstring>
#include <string>

#include "forebay/pool/error.hpp"
#include "pool/units.hpp"
#include "runtime/cuda/cuda_device.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_driver.hpp"

using namespace forebay;
using cuda::CudaDevice;
using test::FakeDriver;

namespace {

using pool::kMiB;

Config exporting() {
  Config config = test::fake_config();
  config.pool.export_as = pool::PoolExport::fd;
  config.pool.handle_size = 2 * kMiB;
  return config;
}

std::string message_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("an imported block is the exported one's memory, and only mapped as far as needed") {
  FakeDriver driver;
  const auto device = CudaDevice::open(driver.api(), 0, exporting());
  const pool::StreamId stream = device->default_stream().id();
  void* first = device->pool().allocate(3 * kMiB, stream);
  void* block = device->pool().allocate(5 * kMiB, stream);
  std::memset(first, 1, 3 * kMiB);
  std::memset(block, 2, 5 * kMiB);
  const std::string before = driver.leaks();
  {
    ExportedBlock exported = device->export_block(block);
    CHECK(exported.bytes == 5 * kMiB);
    CHECK(exported.offset == kMiB);
    CHECK(exported.pieces.size() == 3);
    ImportedBlock imported = device->import_block(exported);
    exported = {};
    CHECK(imported.bytes() == 5 * kMiB);
    CHECK(imported.data() != block);
    CHECK(std::memcmp(imported.data(), block, 5 * kMiB) == 0);
    std::memset(imported.data(), 3, 5 * kMiB);
    CHECK(static_cast<char*>(block)[0] == 3);
    CHECK(static_cast<char*>(block)[5 * kMiB - 1] == 3);
    CHECK(static_cast<char*>(first)[3 * kMiB - 1] == 1);
    ImportedBlock moved = std::move(imported);
    CHECK_FALSE(imported);
    CHECK(moved);
    moved.close();
    moved.close();
    CHECK_FALSE(moved);
  }
  CHECK(driver.leaks() == before);
  device->pool().deallocate(block, stream);
  device->pool().deallocate(first, stream);
}

TEST_CASE("an imported block may outlive its device, and the exporter's memory") {
  FakeDriver driver;
  ImportedBlock imported;
  {
    const auto device = CudaDevice::open(driver.api(), 0, exporting());
    const pool::StreamId stream = device->default_stream().id();
    void* block = device->pool().allocate(kMiB, stream);
    std::memset(block, 7, kMiB);
    imported = device->import_block(device->export_block(block));
    device->pool().deallocate(block, stream);
  }
  CHECK(static_cast<char*>(imported.data())[kMiB - 1] == 7);
  CHECK(driver.leaks() != "");
  imported.close();
  CHECK(driver.leaks() == "");
}

TEST_CASE("whatever call of an import or export fails, nothing is left") {
  FakeDriver driver;
  const auto device = CudaDevice::open(driver.api(), 0, exporting());
  void* block = device->pool().allocate(5 * kMiB, device->default_stream().id());
  const ExportedBlock exported = device->export_block(block);
  const std::string before = driver.leaks();
  for (const char* call : {"cuMemExportToShareableHandle", "cuMemAddressReserve",
                           "cuMemImportFromShareableHandle", "cuMemMap", "cuMemSetAccess"}) {
    for (int nth = 1; nth <= 3; ++nth) {
      INFO(call << " " << nth);
      driver.fail(call, nth, CUDA_ERROR_UNKNOWN);
      const std::string line =
          message_of([&] { (void)device->import_block(device->export_block(block)); });
      const bool once =
          std::strcmp(call, "cuMemAddressReserve") == 0 || std::strcmp(call, "cuMemSetAccess") == 0;
      CHECK((line.find(call) == 0) == (nth == 1 || !once));
      driver.heal();
      CHECK(driver.leaks() == before);
    }
  }
  device->pool().deallocate(block, device->default_stream().id());
}

TEST_CASE("sizes that do not fit together and files of somebody else are refused") {
  FakeDriver driver;
  const auto device = CudaDevice::open(driver.api(), 0, exporting());
  const std::string before = driver.leaks();
  const auto refusal = [&](ExportedBlock block) {
    std::string line = message_of([&] { (void)device->import_block(block); });
    CHECK(driver.leaks() == before);
    return line;
  };
  CHECK(refusal({}) == "importing a block: 0 bytes at offset 0 do not lie in pieces of 0 bytes");
  const auto one_piece = [](std::size_t bytes, std::size_t offset, std::size_t piece) {
    ExportedBlock block{bytes, offset, {}};
    block.pieces.push_back({FileDescriptor(memfd_create("mine", MFD_CLOEXEC)), piece});
    return block;
  };
  CHECK(refusal(one_piece(kMiB, 2 * kMiB, 2 * kMiB)) ==
        "importing a block: 1048576 bytes at offset 2097152 do not lie in pieces of 2097152 bytes");
  CHECK(refusal(one_piece(kMiB, ~std::size_t{0}, 2 * kMiB)).find("do not lie") !=
        std::string::npos);
  CHECK(refusal(one_piece(kMiB, 0, 0)) == "importing a block: a piece of 0 bytes is none");
  CHECK(refusal(one_piece(kMiB, 0, 2 * kMiB)).find("cuMemImportFromShareableHandle") == 0);
  ExportedBlock wrapped = one_piece(kMiB, 0, 2 * kMiB);
  wrapped.pieces.push_back({FileDescriptor(), ~std::size_t{0}});
  CHECK(refusal(std::move(wrapped)).find("is none") != std::string::npos);
}

TEST_CASE("what cannot be exported is said") {
  FakeDriver driver;
  {
    const auto device = CudaDevice::open(driver.api(), 0, test::fake_config());
    const pool::StreamId stream = device->default_stream().id();
    void* block = device->pool().allocate(kMiB, stream);
    CHECK(message_of([&] { (void)device->export_block(block); }) ==
          "the memory of cuda:0 was not made for export; set /pool/export to \"fd\"");
    device->pool().deallocate(block, stream);
  }
  const auto device = CudaDevice::open(driver.api(), 0, exporting());
  CHECK(message_of([&] { (void)device->export_block(&driver); }) ==
        "pool: foreign pointer: pieces are those of a live block, from its beginning");
  device->close();
  CHECK_THROWS_AS(device->export_block(nullptr), ClosedError);
  CHECK_THROWS_AS(device->import_block({}), ClosedError);
}
