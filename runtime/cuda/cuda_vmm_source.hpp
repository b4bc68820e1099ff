// Memory of a CUDA device through virtual memory management, for the pool.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "forebay/pool/pool.hpp"
#include "runtime/cuda/cuda_malloc_source.hpp"

namespace forebay::cuda {

/// Device memory that is created and mapped apart; regions come from cuMemAlloc. Nothing here waits
/// for the device but `free_region`.
class CudaVmmSource final : public CudaMallocSource {
 public:
  /// What is fixed when memory is created and mapped. Regions have none of it.
  struct Options {
    std::vector<CUdevice> peers;  ///< who reads and writes mapped memory beside the device
    pool::PoolExport export_as = pool::PoolExport::none;
  };

  /// Whether the device can map memory at all. Throws DriverError.
  [[nodiscard]] static bool supported(const driver::CudaApi& api, CUdevice device);

  /// Throws DeviceError if the device cannot map memory or not export it, DriverError.
  CudaVmmSource(std::shared_ptr<const Context> context, const Options& options);
  explicit CudaVmmSource(std::shared_ptr<const Context> context)
      : CudaVmmSource(std::move(context), Options{}) {}

  [[nodiscard]] pool::SourceTraits traits() const noexcept override;
  pool::SourceResult reserve(std::size_t bytes, pool::Address* address) noexcept override;
  pool::SourceResult unreserve(pool::Address address, std::size_t bytes) noexcept override;
  pool::SourceResult create(std::size_t bytes, pool::Handle* handle) noexcept override;
  pool::SourceResult map(pool::Address address, std::size_t bytes,
                         pool::Handle handle) noexcept override;
  /// One call of the driver, however many peers there are.
  pool::SourceResult set_access(pool::Address address, std::size_t bytes) noexcept override;
  pool::SourceResult unmap(pool::Address address, std::size_t bytes) noexcept override;
  pool::SourceResult release(pool::Handle handle, std::size_t bytes) noexcept override;

 private:
  CUmemAllocationProp kind_{};
  std::vector<CUmemAccessDesc> access_;  // of the device and its peers
  std::size_t granularity_ = 0;
};

}  // namespace forebay::cuda
