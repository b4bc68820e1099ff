#include "pool/guard_source.hpp"

namespace forebay::pool {

SourceResult GuardSource::allocate_region(std::size_t bytes, Address* address) noexcept {
  const std::size_t granularity = source_->traits().granularity;
  if (bytes == 0 || bytes % granularity != 0) return {Outcome::failed, 0};
  try {
    const std::lock_guard lock(mutex_);
    Address at = 0;
    SourceResult result = source_->reserve(bytes + granularity, &at);
    if (!result.ok()) return result;
    // Kept from here on, so that what cannot be undone now is undone with a later free.
    Region& region = regions_[at];
    region.bytes = bytes;
    result = source_->create(bytes, &region.handle);
    if (result.ok()) {
      result = source_->map(at, bytes, region.handle);
      region.mapped = result.ok();
    }
    if (result.ok()) result = source_->set_access(at, bytes);
    if (result.ok()) {
      *address = at;
    } else if (dismantle(at, region).ok()) {
      regions_.erase(at);
    }
    return result;
  } catch (...) {
    return {Outcome::out_of_memory, 0};
  }
}

SourceResult GuardSource::dismantle(Address address, Region& region) noexcept {
  if (region.mapped) {
    const SourceResult result = source_->unmap(address, region.bytes);
    if (!result.ok()) return result;
    region.mapped = false;
  }
  if (region.handle != 0) {
    const SourceResult result = source_->release(region.handle, region.bytes);
    if (!result.ok()) return result;
    region.handle = 0;
  }
  return source_->unreserve(address, region.bytes + source_->traits().granularity);
}

SourceResult GuardSource::free_region(Address address, std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  const auto region = regions_.find(address);
  if (region == regions_.end() || region->second.bytes != bytes) return {Outcome::failed, 0};
  const SourceResult result = dismantle(address, region->second);
  if (result.ok()) regions_.erase(region);
  return result;
}

}  // namespace forebay::pool
