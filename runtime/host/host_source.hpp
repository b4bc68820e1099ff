// Host memory as a pool sees it: virtual memory through mmap, and plain regions.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <unordered_map>

#include "forebay/pool/memory_source.hpp"

namespace forebay::host {

/// Memory of the host with the manners of a device's: a handle counts against the total from its
/// creation, is mapped whole, and can be read and written only after `set_access`. The system hands
/// pages out as they are touched and takes them back when a handle is unmapped, so a handle holds
/// nothing while it is not mapped.
///
/// A wrong call (an unknown or mapped handle, a range that is not reserved or that cuts a mapping)
/// answers `failed` with EINVAL and changes nothing.
///
/// Thread safety: any thread. Cost: one lock and at most two system calls a call; O(log n) in
/// what is mapped.
class HostSource final : public pool::MemorySource {
 public:
  static constexpr std::size_t kGranularity = std::size_t{2} << 20;

  /// `total`: bytes that handles and regions may take together, a multiple of the granularity or
  /// rounded down to one.
  explicit HostSource(std::size_t total);
  /// Gives back whatever is still reserved or allocated.
  ~HostSource() override;

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

  /// From malloc's family with exactly `bytes` bytes, so that memory checkers see the bounds;
  /// aligned to a granule if `bytes` is a multiple of one, else to pool::kMinAlignment.
  pool::SourceResult allocate_region(std::size_t bytes, pool::Address* address) noexcept override;
  pool::SourceResult free_region(pool::Address address, std::size_t bytes) noexcept override;

 private:
  struct HandleState {
    std::size_t bytes = 0;
    bool mapped = false;
  };
  struct Mapping {
    std::size_t bytes = 0;
    pool::Handle handle = 0;
  };
  using Ranges = std::map<pool::Address, std::size_t>;
  using Mappings = std::map<pool::Address, Mapping>;

  /// The mappings that tile [address, address + bytes) exactly, as a pair of iterators; empty if
  /// they do not. REQUIRES: mutex_.
  [[nodiscard]] std::pair<Mappings::iterator, Mappings::iterator> tiles(pool::Address address,
                                                                        std::size_t bytes);
  /// REQUIRES: mutex_.
  [[nodiscard]] bool reserved(pool::Address address, std::size_t bytes) const;
  /// Counts `bytes` against the total. REQUIRES: mutex_.
  [[nodiscard]] bool take(std::size_t bytes);

  const std::size_t total_;
  mutable std::mutex mutex_;
  std::size_t used_ = 0;                                   // mutex_
  pool::Handle last_handle_ = 0;                           // mutex_
  std::unordered_map<pool::Handle, HandleState> handles_;  // mutex_
  Ranges ranges_;                                          // mutex_; reserved
  Mappings mappings_;                                      // mutex_
  Ranges regions_;                                         // mutex_
};

}  // namespace forebay::host
