// The pool's view of physical memory: one narrow interface, implemented once for each kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace forebay::pool {

/// An address as a number; the pool never dereferences one.
using Address = std::uintptr_t;

/// A piece of physical memory that a source created; 0 is none.
using Handle = std::uint64_t;

/// How a source call ended. `out_of_memory` is an answer, `failed` an accident.
enum class Outcome : std::uint8_t { ok, out_of_memory, failed };

/// Outcome of one source call, with the driver's own code for messages (0 where there is none).
struct SourceResult {
  Outcome outcome = Outcome::ok;
  int code = 0;
  [[nodiscard]] bool ok() const noexcept { return outcome == Outcome::ok; }
};

/// What a source can do. Fixed for its lifetime.
struct SourceTraits {
  std::string_view name;        ///< "cuda-vmm", "cuda-pinned", "host", "simulated"; static storage
  bool virtual_memory = false;  ///< reserve/create/map … work; otherwise only whole regions
  std::size_t granularity = 0;  ///< bytes; sizes and addresses of handles are multiples of it
  std::size_t total = 0;        ///< bytes of memory behind the source
  bool free_waits = false;      ///< free_region waits for the whole device
};

/// Memory of one kind on one device. Creating and mapping physical memory are separate steps,
/// so that a pool can move a handle from one address to another.
///
/// A handle is mapped whole or not at all. The calls fall into two families; a source with
/// `traits().virtual_memory == false` answers `failed` to the first one.
/// Thread safety: every call may be made from any thread, concurrently.
class MemorySource {
 public:
  MemorySource() = default;
  MemorySource(const MemorySource&) = delete;
  MemorySource& operator=(const MemorySource&) = delete;
  virtual ~MemorySource() = default;

  [[nodiscard]] virtual SourceTraits traits() const noexcept = 0;
  /// Bytes that the device could still hand out now; the whole machine's figure, not the pool's.
  [[nodiscard]] virtual std::size_t free_bytes() const noexcept = 0;
  /// Microseconds that all calls so far took by the source's own reckoning; negative where a clock
  /// has to measure them.
  [[nodiscard]] virtual double modelled_us() const noexcept { return -1; }

  // Virtual memory. `bytes` is a multiple of the granularity.
  virtual SourceResult reserve(std::size_t bytes, Address* address) noexcept = 0;
  virtual SourceResult unreserve(Address address, std::size_t bytes) noexcept = 0;
  virtual SourceResult create(std::size_t bytes, Handle* handle) noexcept = 0;
  virtual SourceResult map(Address address, std::size_t bytes, Handle handle) noexcept = 0;
  /// One call may cover several mappings that lie side by side.
  virtual SourceResult set_access(Address address, std::size_t bytes) noexcept = 0;
  virtual SourceResult unmap(Address address, std::size_t bytes) noexcept = 0;
  /// REQUIRES: `handle` is not mapped.
  virtual SourceResult release(Handle handle, std::size_t bytes) noexcept = 0;

  // Plain memory: used by pools in passthrough mode (any number of bytes) and where virtual memory
  // is missing. Addresses are multiples of 256 at least.
  virtual SourceResult allocate_region(std::size_t bytes, Address* address) noexcept = 0;
  virtual SourceResult free_region(Address address, std::size_t bytes) noexcept = 0;
};

}  // namespace forebay::pool
