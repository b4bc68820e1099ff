// A source whose regions end where no memory is.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "forebay/pool/memory_source.hpp"

namespace forebay::pool {

/// Passes everything on to another source with virtual memory, but makes regions itself: each in a
/// reservation of its own with an unmapped granule behind it, so that the first access beyond the
/// end faults, on a device as on the host. Such a region costs a reservation and five driver calls.
/// Thread safety: as MemorySource.
class GuardSource final : public MemorySource {
 public:
  /// REQUIRES: `source` has virtual memory.
  explicit GuardSource(std::shared_ptr<MemorySource> source) : source_(std::move(source)) {}
  /// What is left of regions that could not be made is tried once more.
  ~GuardSource() override;
  GuardSource(const GuardSource&) = delete;
  GuardSource& operator=(const GuardSource&) = delete;

  [[nodiscard]] SourceTraits traits() const noexcept override { return source_->traits(); }
  [[nodiscard]] std::size_t free_bytes() const noexcept override { return source_->free_bytes(); }
  [[nodiscard]] double modelled_us() const noexcept override { return source_->modelled_us(); }
  SourceResult reserve(std::size_t bytes, Address* address) noexcept override {
    return source_->reserve(bytes, address);
  }
  SourceResult unreserve(Address address, std::size_t bytes) noexcept override {
    return source_->unreserve(address, bytes);
  }
  SourceResult create(std::size_t bytes, Handle* handle) noexcept override {
    return source_->create(bytes, handle);
  }
  SourceResult map(Address address, std::size_t bytes, Handle handle) noexcept override {
    return source_->map(address, bytes, handle);
  }
  SourceResult set_access(Address address, std::size_t bytes) noexcept override {
    return source_->set_access(address, bytes);
  }
  SourceResult unmap(Address address, std::size_t bytes) noexcept override {
    return source_->unmap(address, bytes);
  }
  SourceResult release(Handle handle, std::size_t bytes) noexcept override {
    return source_->release(handle, bytes);
  }

  /// `bytes` is a multiple of the granularity.
  SourceResult allocate_region(std::size_t bytes, Address* address) noexcept override;
  /// A call that failed half way goes on there when it is made again.
  SourceResult free_region(Address address, std::size_t bytes) noexcept override;

 private:
  struct Region {
    std::size_t bytes = 0;
    Handle handle = 0;  // 0 once released
    bool mapped = false;
    bool refused = false;  // it could not be made, and not be undone so far: nobody has it
  };
  using Regions = std::map<Address, Region>;
  /// Undoes whatever has been done for a region.
  SourceResult dismantle(Address address, Region& region) noexcept;
  /// What could not be made is undone, as far as it can be now.
  void clear_refused() noexcept;

  const std::shared_ptr<MemorySource> source_;
  std::mutex mutex_;
  Regions regions_;  // mutex_
};

}  // namespace forebay::pool
