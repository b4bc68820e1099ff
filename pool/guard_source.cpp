#include "pool/guard_source.hpp"

#include <iterator>
#include <new>
#include <utility>

namespace forebay::pool {

SourceResult GuardSource::allocate_region(std::size_t bytes, Address* address) noexcept {
  const std::size_t granularity = source_->traits().granularity;
  if (bytes == 0 || bytes % granularity != 0) return {Outcome::failed, 0};
  const std::lock_guard lock(mutex_);
  clear_refused();
  Regions::node_type node;
  try {
    Regions one;
    one.try_emplace(0);
    node = one.extract(one.begin());
  } catch (const std::bad_alloc&) {
    return {Outcome::out_of_memory, 0};
  }
  Address at = 0;
  SourceResult result = source_->reserve(bytes + granularity, &at);
  if (!result.ok()) return result;
  node.key() = at;
  Region& region = regions_.insert(std::move(node)).position->second;
  region.bytes = bytes;
  result = source_->create(bytes, &region.handle);
  if (result.ok()) {
    result = source_->map(at, bytes, region.handle);
    region.mapped = result.ok();
  }
  if (result.ok()) result = source_->set_access(at, bytes);
  if (result.ok()) {
    *address = at;
    return result;
  }
  region.refused = true;
  clear_refused();
  return result;
}

// REQUIRES: the mutex.
void GuardSource::clear_refused() noexcept {
  for (auto region = regions_.begin(); region != regions_.end();) {
    const auto next = std::next(region);
    if (region->second.refused && dismantle(region->first, region->second).ok()) {
      regions_.erase(region);
    }
    region = next;
  }
}

GuardSource::~GuardSource() {
  const std::lock_guard lock(mutex_);
  clear_refused();
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
  clear_refused();
  const auto region = regions_.find(address);
  if (region == regions_.end() || region->second.bytes != bytes) return {Outcome::failed, 0};
  const SourceResult result = dismantle(address, region->second);
  if (result.ok()) regions_.erase(region);
  return result;
}

}  // namespace forebay::pool
