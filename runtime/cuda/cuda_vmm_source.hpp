// Memory of a CUDA device for the pool.
#pragma once

#include <cstddef>
#include <memory>

#include "forebay/pool/memory_source.hpp"
#include "runtime/cuda/context.hpp"

namespace forebay::cuda {

/// Device memory through the driver's virtual memory management; regions come from cuMemAlloc.
/// Nothing here waits for the device but `free_region`.
class CudaVmmSource final : public pool::MemorySource {
 public:
  /// Throws DeviceError if the device cannot map memory, DriverError.
  explicit CudaVmmSource(std::shared_ptr<const Context> context);

  [[nodiscard]] pool::SourceTraits traits() const noexcept override;
  [[nodiscard]] std::size_t free_bytes() const noexcept override;
  pool::SourceResult reserve(std::size_t bytes, pool::Address* address) noexcept override;
  pool::SourceResult unreserve(pool::Address address, std::size_t bytes) noexcept override;
  pool::SourceResult create(std::size_t bytes, pool::Handle* handle) noexcept override;
  pool::SourceResult map(pool::Address address, std::size_t bytes,
                         pool::Handle handle) noexcept override;
  pool::SourceResult set_access(pool::Address address, std::size_t bytes) noexcept override;
  pool::SourceResult unmap(pool::Address address, std::size_t bytes) noexcept override;
  pool::SourceResult release(pool::Handle handle, std::size_t bytes) noexcept override;
  pool::SourceResult allocate_region(std::size_t bytes, pool::Address* address) noexcept override;
  pool::SourceResult free_region(pool::Address address, std::size_t bytes) noexcept override;

 private:
  std::shared_ptr<const Context> context_;
  CUmemAllocationProp kind_{};
  std::size_t granularity_ = 0;
  std::size_t total_ = 0;
};

}  // namespace forebay::cuda
