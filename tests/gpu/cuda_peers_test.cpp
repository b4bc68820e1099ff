// A second device reads and writes the pool's memory.
#include <cstdint>
#include <cstdio>
#include <string>

#include "runtime/cuda/cuda_device.hpp"
#include "runtime/cuda/kernel_cache.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/cuda_share.hpp"
#include "tests/support/device.hpp"

using namespace forebay;
using namespace forebay::test;

namespace {

/// Turns the exporter's words into the importer's, where they stand.
constexpr const char* kKernel = R"(
extern "C" __global__ void turn(unsigned* block, unsigned long long words, unsigned change) {
  for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < words;
       i += (unsigned long long)gridDim.x * blockDim.x) block[i] ^= change;
}
)";

/// Why cuda:1 cannot use the memory of cuda:0; empty if it can.
std::string why_no_peer() {
  const auto api = driver::CudaApi::open();
  int count = 0;
  REQUIRE(api->cuDeviceGetCount(&count) == CUDA_SUCCESS);
  if (count < 2) {
    return "peers need two CUDA devices, this machine has one";
  }
  int reaches = 0;
  REQUIRE(api->cuDeviceCanAccessPeer(&reaches, 1, 0) == CUDA_SUCCESS);
  return reaches != 0 ? "" : "cuda:1 cannot reach the memory of cuda:0";
}

void peer_uses_pool(const pool::PoolConfig& pool_config) {
  Config config;
  config.pool = pool_config;
  config.pool.peers = pool::PoolPeers::reachable;
  const auto api = driver::CudaApi::open();
  const auto owner = cuda::CudaDevice::open(api, 0, config);
  const auto peer = cuda::CudaDevice::open(api, 1, {});
  const CUfunction kernel = peer->kernels().get(kKernel, "turn");
  const pool::StreamId stream = owner->default_stream().id();
  for (const std::size_t bytes : {std::size_t{4096}, 300 * kMiB}) {
    void* block = owner->pool().allocate(bytes, stream);
    write_words(*owner, block, bytes, Author::exporter);
    unsigned long long words = bytes / sizeof(std::uint32_t);
    auto change =
        static_cast<std::uint32_t>(Author::exporter) ^ static_cast<std::uint32_t>(Author::importer);
    void* arguments[] = {&block, &words, &change};
    peer->make_current();
    REQUIRE(api->cuLaunchKernel(kernel, 256, 1, 1, 256, 1, 1, 0,
                                static_cast<CUstream>(peer->default_stream().native()), arguments,
                                nullptr) == CUDA_SUCCESS);
    peer->default_stream().synchronize();
    CHECK(wrong_words(*owner, block, bytes, Author::importer) == 0);
    owner->pool().deallocate(block, stream);
  }
}

}  // namespace

#define FOREBAY_REQUIRE_PEER()                               \
  FOREBAY_REQUIRE_DEVICE();                                  \
  if (const std::string why = why_no_peer(); !why.empty()) { \
    std::printf("SKIPPED: %s\n", why.c_str());               \
    return;                                                  \
  }

TEST_CASE("a peer reads and writes mapped memory") {
  FOREBAY_REQUIRE_PEER();
  peer_uses_pool({});
}

TEST_CASE("a peer reads and writes regions") {
  FOREBAY_REQUIRE_PEER();
  pool::PoolConfig config;
  config.backing = pool::PoolBacking::malloc;
  peer_uses_pool(config);
}

TEST_CASE("a peer reads and writes blocks that are regions of their own") {
  FOREBAY_REQUIRE_PEER();
  pool::PoolConfig config;
  config.mode = pool::PoolMode::passthrough;
  peer_uses_pool(config);
}

TEST_CASE("a block of one device is imported on another in another process") {
  FOREBAY_REQUIRE_PEER();
  Config config;
  config.pool.export_as = pool::PoolExport::fd;
  config.pool.handle_size = 2 * kMiB;
  const auto owner = cuda::CudaDevice::open(driver::CudaApi::open(), 0, config);
  shares_with_a_process(*owner, 3 * kMiB, 37 * kMiB + 512, "", 1);
}
