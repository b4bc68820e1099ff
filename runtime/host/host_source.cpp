#include "runtime/host/host_source.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "forebay/pool/pool.hpp"
#include "runtime/host/host_memory.hpp"

namespace forebay::host {

using pool::Address;
using pool::Handle;
using pool::Outcome;
using pool::SourceResult;

namespace {

constexpr SourceResult kOk{};
constexpr SourceResult kWrongCall{Outcome::failed, EINVAL};
constexpr SourceResult kNoMemory{Outcome::out_of_memory, ENOMEM};

SourceResult from_errno(int code) {
  return {code == ENOMEM ? Outcome::out_of_memory : Outcome::failed, code};
}

void* pointer(Address address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

bool granular(std::size_t bytes) { return bytes != 0 && bytes % HostSource::kGranularity == 0; }

/// Runs `body`, which may allocate host metadata; the interface answers, it does not throw.
template <typename Body>
SourceResult guarded(std::mutex& mutex, Body&& body) noexcept {
  try {
    const std::lock_guard lock(mutex);
    return body();
  } catch (...) {
    return kNoMemory;
  }
}

}  // namespace

HostSource::HostSource(std::size_t total) : total_(total / kGranularity * kGranularity) {}

HostSource::~HostSource() {
  for (const auto& [address, bytes] : ranges_) munmap(pointer(address), bytes);
  for (const auto& [address, bytes] : regions_) std::free(pointer(address));
}

pool::SourceTraits HostSource::traits() const noexcept {
  return {"host", true, kGranularity, total_};
}

std::size_t HostSource::free_bytes() const noexcept {
  const std::size_t available = available_memory();
  const std::lock_guard lock(mutex_);
  return std::min(total_ - used_, available);
}

SourceResult HostSource::reserve(std::size_t bytes, Address* address) noexcept {
  if (!granular(bytes)) return kWrongCall;
  return guarded(mutex_, [&]() -> SourceResult {
    // A granule more than wanted holds an aligned range; what is over goes back.
    const std::size_t padded = bytes + kGranularity;
    void* start =
        mmap(nullptr, padded, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) return from_errno(errno);
    const auto first = reinterpret_cast<Address>(start);
    const Address aligned = (first + kGranularity - 1) / kGranularity * kGranularity;
    const std::size_t before = aligned - first;
    if (before != 0) munmap(start, before);
    munmap(pointer(aligned + bytes), kGranularity - before);
    try {
      ranges_.emplace(aligned, bytes);
    } catch (...) {
      munmap(pointer(aligned), bytes);
      throw;
    }
    *address = aligned;
    return kOk;
  });
}

SourceResult HostSource::unreserve(Address address, std::size_t bytes) noexcept {
  return guarded(mutex_, [&]() -> SourceResult {
    const auto range = ranges_.find(address);
    if (range == ranges_.end() || range->second != bytes) return kWrongCall;
    const auto inside = mappings_.lower_bound(address);
    if (inside != mappings_.end() && inside->first < address + bytes) return kWrongCall;
    if (munmap(pointer(address), bytes) != 0) return from_errno(errno);
    ranges_.erase(range);
    return kOk;
  });
}

SourceResult HostSource::create(std::size_t bytes, Handle* handle) noexcept {
  if (!granular(bytes)) return kWrongCall;
  return guarded(mutex_, [&]() -> SourceResult {
    if (!take(bytes)) return kNoMemory;
    try {
      handles_.emplace(last_handle_ + 1, HandleState{bytes, false});
    } catch (...) {
      used_ -= bytes;
      throw;
    }
    *handle = ++last_handle_;
    return kOk;
  });
}

SourceResult HostSource::map(Address address, std::size_t bytes, Handle handle) noexcept {
  if (address % kGranularity != 0) return kWrongCall;
  return guarded(mutex_, [&]() -> SourceResult {
    const auto found = handles_.find(handle);
    if (found == handles_.end() || found->second.mapped || found->second.bytes != bytes ||
        !reserved(address, bytes)) {
      return kWrongCall;
    }
    const auto next = mappings_.lower_bound(address);
    if (next != mappings_.end() && next->first < address + bytes) return kWrongCall;
    if (next != mappings_.begin()) {
      const auto& [before, mapping] = *std::prev(next);
      if (before + mapping.bytes > address) return kWrongCall;
    }
    mappings_.emplace_hint(next, address, Mapping{bytes, handle});
    found->second.mapped = true;
    return kOk;
  });
}

SourceResult HostSource::set_access(Address address, std::size_t bytes) noexcept {
  return guarded(mutex_, [&]() -> SourceResult {
    const auto [first, last] = tiles(address, bytes);
    if (first == last) return kWrongCall;
    if (mprotect(pointer(address), bytes, PROT_READ | PROT_WRITE) != 0) return from_errno(errno);
    // Fewer page faults where the system has huge pages; where it has none, nothing is lost.
    madvise(pointer(address), bytes, MADV_HUGEPAGE);
    return kOk;
  });
}

SourceResult HostSource::unmap(Address address, std::size_t bytes) noexcept {
  return guarded(mutex_, [&]() -> SourceResult {
    const auto [first, last] = tiles(address, bytes);
    if (first == last) return kWrongCall;
    // A fresh inaccessible mapping in the same place drops the pages in one call.
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    if (mmap(pointer(address), bytes, PROT_NONE, kFlags, -1, 0) == MAP_FAILED) {
      return from_errno(errno);
    }
    for (auto mapping = first; mapping != last; ++mapping) {
      handles_.at(mapping->second.handle).mapped = false;
    }
    mappings_.erase(first, last);
    return kOk;
  });
}

SourceResult HostSource::release(Handle handle, std::size_t bytes) noexcept {
  return guarded(mutex_, [&]() -> SourceResult {
    const auto found = handles_.find(handle);
    if (found == handles_.end() || found->second.mapped || found->second.bytes != bytes) {
      return kWrongCall;
    }
    handles_.erase(found);
    used_ -= bytes;
    return kOk;
  });
}

SourceResult HostSource::allocate_region(std::size_t bytes, Address* address) noexcept {
  if (bytes == 0) return kWrongCall;
  return guarded(mutex_, [&]() -> SourceResult {
    if (!take(bytes)) return kNoMemory;
    void* start = nullptr;
    const std::size_t alignment = granular(bytes) ? kGranularity : pool::kMinAlignment;
    const int code = posix_memalign(&start, alignment, bytes);
    if (code != 0) {
      used_ -= bytes;
      return from_errno(code);
    }
    try {
      regions_.emplace(reinterpret_cast<Address>(start), bytes);
    } catch (...) {
      std::free(start);
      used_ -= bytes;
      throw;
    }
    *address = reinterpret_cast<Address>(start);
    return kOk;
  });
}

SourceResult HostSource::free_region(Address address, std::size_t bytes) noexcept {
  return guarded(mutex_, [&]() -> SourceResult {
    const auto region = regions_.find(address);
    if (region == regions_.end() || region->second != bytes) return kWrongCall;
    std::free(pointer(address));
    regions_.erase(region);
    used_ -= bytes;
    return kOk;
  });
}

std::pair<HostSource::Mappings::iterator, HostSource::Mappings::iterator> HostSource::tiles(
    Address address, std::size_t bytes) {
  const auto first = mappings_.find(address);
  auto last = first;
  Address end = address;
  while (last != mappings_.end() && last->first == end && end < address + bytes) {
    end += last->second.bytes;
    ++last;
  }
  if (bytes == 0 || end != address + bytes) return {first, first};
  return {first, last};
}

bool HostSource::reserved(Address address, std::size_t bytes) const {
  auto range = ranges_.upper_bound(address);
  if (range == ranges_.begin()) return false;
  --range;
  const std::size_t offset = address - range->first;
  return offset < range->second && bytes <= range->second - offset;
}

bool HostSource::take(std::size_t bytes) {
  if (bytes > total_ - used_) return false;
  used_ += bytes;
  return true;
}

}  // namespace forebay::host
