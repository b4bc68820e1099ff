// A source of whole regions: what it has no virtual memory for, it refuses.
#pragma once

#include <cuda.h>

#include <cstddef>

#include "forebay/pool/memory_source.hpp"

namespace forebay::cuda {

class RegionSource : public pool::MemorySource {
 public:
  /// Regions are multiples of this: what the driver gives out at once.
  static constexpr std::size_t kGranularity = std::size_t{2} << 20;

  pool::SourceResult reserve(std::size_t, pool::Address*) noexcept override { return refused(); }
  pool::SourceResult unreserve(pool::Address, std::size_t) noexcept override { return refused(); }
  pool::SourceResult create(std::size_t, pool::Handle*) noexcept override { return refused(); }
  pool::SourceResult map(pool::Address, std::size_t, pool::Handle) noexcept override {
    return refused();
  }
  pool::SourceResult set_access(pool::Address, std::size_t) noexcept override { return refused(); }
  pool::SourceResult unmap(pool::Address, std::size_t) noexcept override { return refused(); }
  pool::SourceResult release(pool::Handle, std::size_t) noexcept override { return refused(); }

 private:
  static pool::SourceResult refused() noexcept {
    return {pool::Outcome::failed, CUDA_ERROR_NOT_SUPPORTED};
  }
};

}  // namespace forebay::cuda
