// Memory of a CUDA device from the driver's plain allocator, for the pool.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/cuda/context.hpp"
#include "runtime/cuda/region_source.hpp"

namespace forebay::cuda {

/// Device memory in whole regions (cuMemAlloc): for devices without virtual memory management and
/// for libraries that take no other memory (cudaIpcGetMemHandle refuses mapped memory). Freeing a
/// region waits for the whole device.
class CudaMallocSource : public RegionSource {
 public:
  /// The `peers` read and write the regions too. For that their primary contexts are retained until
  /// `release_peers`, which takes memory of theirs. Throws DriverError.
  explicit CudaMallocSource(std::shared_ptr<const Context> context,
                            const std::vector<CUdevice>& peers = {});

  [[nodiscard]] pool::SourceTraits traits() const noexcept override;
  [[nodiscard]] std::size_t free_bytes() const noexcept override;
  /// Of any number of bytes.
  pool::SourceResult allocate_region(std::size_t bytes, pool::Address* address) noexcept override;
  pool::SourceResult free_region(pool::Address address, std::size_t bytes) noexcept override;

  /// Gives the peers' contexts back; nothing may be allocated after it. Twice is fine.
  void release_peers() noexcept { peers_.clear(); }

 protected:
  const std::shared_ptr<const Context> context_;

 private:
  std::vector<std::unique_ptr<Context>> peers_;
  std::size_t total_ = 0;
};

}  // namespace forebay::cuda
