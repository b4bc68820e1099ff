// A memory source whose calls are counted and timed.
#pragma once

#include <atomic>
#include <chrono>
#include <utility>

#include "forebay/pool/memory_source.hpp"
#include "forebay/pool/stats.hpp"

namespace forebay::pool {

/// Wraps a source; thread safety is the source's own, the counters are atomic.
class MeteredSource {
 public:
  explicit MeteredSource(MemorySource& source) : source_(source) {}

  [[nodiscard]] SourceTraits traits() const noexcept { return source_.traits(); }
  [[nodiscard]] std::size_t free_bytes() const noexcept { return source_.free_bytes(); }

  SourceResult reserve(std::size_t bytes, Address* address) noexcept {
    return timed(reserve_, [&] { return source_.reserve(bytes, address); });
  }
  SourceResult unreserve(Address address, std::size_t bytes) noexcept {
    return timed(unreserve_, [&] { return source_.unreserve(address, bytes); });
  }
  SourceResult create(std::size_t bytes, Handle* handle) noexcept {
    return timed(create_, [&] { return source_.create(bytes, handle); });
  }
  SourceResult map(Address address, std::size_t bytes, Handle handle) noexcept {
    return timed(map_, [&] { return source_.map(address, bytes, handle); });
  }
  SourceResult set_access(Address address, std::size_t bytes) noexcept {
    return timed(set_access_, [&] { return source_.set_access(address, bytes); });
  }
  SourceResult unmap(Address address, std::size_t bytes) noexcept {
    return timed(unmap_, [&] { return source_.unmap(address, bytes); });
  }
  SourceResult release(Handle handle, std::size_t bytes) noexcept {
    return timed(release_, [&] { return source_.release(handle, bytes); });
  }
  SourceResult allocate_region(std::size_t bytes, Address* address) noexcept {
    return timed(allocate_region_, [&] { return source_.allocate_region(bytes, address); });
  }
  SourceResult free_region(Address address, std::size_t bytes) noexcept {
    return timed(free_region_, [&] { return source_.free_region(address, bytes); });
  }

  void report(DriverStats& stats) const noexcept {
    stats.reserve = reserve_.tally();
    stats.unreserve = unreserve_.tally();
    stats.create = create_.tally();
    stats.map = map_.tally();
    stats.set_access = set_access_.tally();
    stats.unmap = unmap_.tally();
    stats.release = release_.tally();
    stats.allocate_region = allocate_region_.tally();
    stats.free_region = free_region_.tally();
  }

 private:
  struct Meter {
    std::atomic<std::uint64_t> count{0}, nanoseconds{0};
    [[nodiscard]] Tally tally() const noexcept {
      return {count.load(std::memory_order_relaxed),
              (nanoseconds.load(std::memory_order_relaxed) + 500) / 1000};
    }
  };

  template <typename Call>
  SourceResult timed(Meter& meter, Call&& call) noexcept {
    const double modelled = source_.modelled_us();
    const auto begin = std::chrono::steady_clock::now();
    const SourceResult result = std::forward<Call>(call)();
    const auto measured = std::chrono::steady_clock::now() - begin;
    const auto nanoseconds =
        modelled < 0 ? std::chrono::duration_cast<std::chrono::nanoseconds>(measured).count()
                     : static_cast<std::int64_t>((source_.modelled_us() - modelled) * 1000.0 + 0.5);
    meter.count.fetch_add(1, std::memory_order_relaxed);
    meter.nanoseconds.fetch_add(static_cast<std::uint64_t>(nanoseconds), std::memory_order_relaxed);
    return result;
  }

  MemorySource& source_;
  Meter reserve_, unreserve_, create_, map_, set_access_, unmap_, release_, allocate_region_,
      free_region_;
};

}  // namespace forebay::pool
