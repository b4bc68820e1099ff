// Page-locked host memory for the pool.
#pragma once

#include <cstddef>
#include <memory>

#include "runtime/cuda/context.hpp"
#include "runtime/cuda/region_source.hpp"

namespace forebay::cuda {

/// Page-locked host memory that every device reads and writes at the same address. Whole regions
/// only: a copy across the border of two page-locked regions is an error, so they cannot be put
/// together.
class CudaPinnedSource final : public RegionSource {
 public:
  explicit CudaPinnedSource(std::shared_ptr<const Context> context);

  [[nodiscard]] pool::SourceTraits traits() const noexcept override;
  [[nodiscard]] std::size_t free_bytes() const noexcept override;
  pool::SourceResult allocate_region(std::size_t bytes, pool::Address* address) noexcept override;
  pool::SourceResult free_region(pool::Address address, std::size_t bytes) noexcept override;

 private:
  std::shared_ptr<const Context> context_;
};

}  // namespace forebay::cuda
