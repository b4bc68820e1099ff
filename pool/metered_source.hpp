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
    stats.reserve = reserve_.calls();
    stats.unreserve = unreserve_.calls();
    stats.create = create_.calls();
    stats.map = map_.calls();
    stats.set_access = set_access_.calls();
    stats.unmap = unmap_.calls();
    stats.release = release_.calls();
    stats.allocate_region = allocate_region_.calls();
    stats.free_region = free_region_.calls();
  }

 private:
  struct Meter {
    std::atomic<std::uint64_t> count{0}, nanoseconds{0}, longest{0};
    [[nodiscard]] CallStats calls() const noexcept {
      const auto us = [](const std::atomic<std::uint64_t>& time) {
        return (time.load(std::memory_order_relaxed) + 500) / 1000;
      };
      return {count.load(std::memory_order_relaxed), us(nanoseconds), us(longest)};
    }
    void add(std::uint64_t spent) noexcept {
      count.fetch_add(1, std::memory_order_relaxed);
      nanoseconds.fetch_add(spent, std::memory_order_relaxed);
      std::uint64_t most = longest.load(std::memory_order_relaxed);
      while (spent > most &&
             !longest.compare_exchange_weak(most, spent, std::memory_order_relaxed)) {
      }
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
    meter.add(static_cast<std::uint64_t>(nanoseconds));
    return result;
  }

  MemorySource& source_;
  Meter reserve_, unreserve_, create_, map_, set_access_, unmap_, release_, allocate_region_,
      free_region_;
};

}  // namespace forebay::pool
