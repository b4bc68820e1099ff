// Page-locked host memory for the pool.
#pragma once

#include <cstddef>
#include <memory>

#include "forebay/pool/memory_source.hpp"
#include "runtime/cuda/context.hpp"

namespace forebay::cuda {

/// Page-locked host memory that every device reads and writes at the same address. Whole regions
/// only: a copy across the border of two page-locked regions is an error, so they cannot be put
/// together.
class CudaPinnedSource final : public pool::MemorySource {
 public:
  explicit CudaPinnedSource(std::shared_ptr<const Context> context);

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
};

}  // namespace forebay::cuda
