// Backing: the physical memory that a pool holds, mapped or idle.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "forebay/pool/pool.hpp"
#include "pool/gauge.hpp"
#include "pool/metered_source.hpp"

namespace forebay::pool {

/// A handle, or a region of a source without virtual memory, at its address.
struct Mapping {
  Address address = 0;
  std::size_t bytes = 0;
  Handle handle = 0;  ///< 0 for a region
};

/// Creates, maps, unmaps and releases handles, never more than the capacity, and loses none of them
/// whatever call fails, nor where the host lacks memory, which fails like a call. It knows nothing
/// of what lies in the memory.
///
/// Thread safety: the pool's growth lock guards every call but the readers of gauges. `mappings`
/// are changed (`add`, `remove`) with the engine lock held too, so that either lock suffices to
/// read.
class Backing {
 public:
  using Mappings = std::map<Address, Mapping>;
  /// A mapping that was made and is not among `mappings` yet, with all that it takes to add it.
  using Made = Mappings::node_type;

  Backing(MeteredSource& source, std::size_t capacity, std::size_t handle_size)
      : source_(source), capacity_(capacity), handle_size_(handle_size) {}

  /// From now on no more than `bytes` are held, at most the capacity, and new memory leaves
  /// `headroom` bytes of the device free. Asks the device if there is a headroom.
  void limit(std::size_t bytes, std::size_t headroom) noexcept;
  /// Who is told of what is mapped, after it was, and of what is unmapped, before it is; and of all
  /// that is mapped now.
  void set_observer(MappingCallback observer);
  /// Bytes that idle handles and the limit lack for `need`.
  [[nodiscard]] std::size_t missing(std::size_t need) const noexcept;
  /// Handles at most of which a mapping of so many bytes is made.
  [[nodiscard]] std::size_t most_handles(std::size_t bytes) const noexcept {
    const std::size_t idle = std::min(idle_.size(), bytes / source_.traits().granularity);
    return idle + bytes / handle_size_ + 2;  // the last two may be smaller
  }
  /// Maps [address, address + bytes), idle handles first, and sets access to all of it at once.
  /// `made` receives the mappings; when it fails, those that could not be undone.
  SourceResult map(Address address, std::size_t bytes, std::vector<Made>& made) noexcept;
  /// The mapping's handle becomes idle. When it fails nothing has changed.
  SourceResult unmap(const Mapping& mapping) noexcept;
  /// A region for sources without virtual memory, at least `bytes` at `alignment`.
  SourceResult allocate_region(std::size_t bytes, std::size_t alignment, Made& made) noexcept;
  /// A region of just `bytes`; with room to align it where the source need not do so.
  SourceResult allocate_exactly(std::size_t bytes, std::size_t alignment, Made& made) noexcept;
  SourceResult free_region(const Mapping& mapping) noexcept;
  /// Releases idle handles while more than `keep` bytes are held. Returns the bytes released.
  std::size_t release_idle(std::size_t keep) noexcept;

  Mapping add(Made made) noexcept;
  void remove(const Mapping& mapping) noexcept;
  [[nodiscard]] const Mappings& mappings() const noexcept { return mappings_; }
  /// The last mapping that lies wholly in [begin, end), null if there is none. O(log n).
  [[nodiscard]] const Mapping* last_inside(Address begin, Address end) const noexcept;

  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::size_t handle_size() const noexcept { return handle_size_; }
  [[nodiscard]] const Gauge& mapped() const noexcept { return mapped_; }
  [[nodiscard]] const Gauge& idle() const noexcept { return idle_bytes_; }
  [[nodiscard]] const Gauge& held() const noexcept { return held_; }
  /// Calls `visit(bytes)` for every idle handle.
  template <typename Visit>
  void each_idle(Visit&& visit) const {
    for (const Idle& idle : idle_) visit(idle.bytes);
  }
  /// How the last call of the source that failed ended, and which it was; for reports.
  [[nodiscard]] const std::string& last_failure() const noexcept { return last_failure_; }

  /// Empty, or the first invariant that does not hold.
  [[nodiscard]] std::string validate() const;

 private:
  struct Idle {
    Handle handle;
    std::size_t bytes;
  };
  void tell(Address address, std::size_t bytes, bool mapped) const noexcept;
  SourceResult map_handles(Address address, std::size_t bytes, std::vector<Made>& made);
  SourceResult unmap_untold(const Mapping& mapping) noexcept;
  SourceResult take_region(std::size_t bytes, Made& made) noexcept;
  [[nodiscard]] static Made to_be_made();
  SourceResult failed(const char* call, SourceResult result) noexcept;
  SourceResult lacks_host_memory() noexcept;
  void count(std::int64_t mapped, std::int64_t idle) noexcept;
  void take_room(std::size_t bytes) noexcept;
  void give_room(std::size_t bytes) noexcept;
  [[nodiscard]] std::size_t bytes_left() const noexcept;
  [[nodiscard]] std::size_t left() const noexcept;  // … in whole granules

  MeteredSource& source_;
  const std::size_t capacity_;
  std::size_t limit_ = capacity_;
  std::size_t room_ = ~std::size_t{0};  // bytes that may be taken of the device
  MappingCallback observer_;
  const std::size_t handle_size_;
  Mappings mappings_;
  std::vector<Idle> idle_;   // with room for every handle there is, so that unmapping needs none
  std::size_t handles_ = 0;  // mapped or idle
  Gauge mapped_, idle_bytes_, held_;
  std::string last_failure_;
};

}  // namespace forebay::pool
