// A memory source and a timeline without a device, for tests and for replaying traces.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "forebay/pool/memory_source.hpp"
#include "forebay/pool/timeline.hpp"

namespace forebay::pool {

/// The calls of a source that can be made to fail.
enum class SourceCall : std::uint8_t {
  reserve,
  unreserve,
  create,
  map,
  set_access,
  unmap,
  release,
  allocate_region,
  free_region,
};
inline constexpr std::size_t kSourceCalls = 9;

/// A source with no memory behind it: addresses are only numbers. It keeps a ledger of handles and
/// mappings, refuses what the driver refuses (a partial map, a map over another, a release while
/// mapped …), charges what each call costs on a measured device, and fails on demand.
/// Thread safety: every call may be made from any thread.
class SimulatedSource final : public MemorySource {
 public:
  struct Options {
    std::size_t total = std::size_t{1} << 30;        ///< bytes of the device
    std::size_t granularity = std::size_t{2} << 20;  ///< a power of two
    bool virtual_memory = true;                      ///< false: only regions
    std::size_t region_alignment = std::size_t{2} << 20;
  };
  explicit SimulatedSource(const Options& options);

  [[nodiscard]] SourceTraits traits() const noexcept override;
  [[nodiscard]] std::size_t free_bytes() const noexcept override;
  [[nodiscard]] double modelled_us() const noexcept override;
  SourceResult reserve(std::size_t bytes, Address* address) noexcept override;
  SourceResult unreserve(Address address, std::size_t bytes) noexcept override;
  SourceResult create(std::size_t bytes, Handle* handle) noexcept override;
  SourceResult map(Address address, std::size_t bytes, Handle handle) noexcept override;
  SourceResult set_access(Address address, std::size_t bytes) noexcept override;
  SourceResult unmap(Address address, std::size_t bytes) noexcept override;
  SourceResult release(Handle handle, std::size_t bytes) noexcept override;
  SourceResult allocate_region(std::size_t bytes, Address* address) noexcept override;
  SourceResult free_region(Address address, std::size_t bytes) noexcept override;

  /// The `nth` call of this kind from now on (1 is the next) ends as `outcome`, and all later ones
  /// too if `for_ever`. nth = 0 ends the injection.
  void fail(SourceCall call, std::uint64_t nth, bool for_ever, Outcome outcome = Outcome::failed);
  /// Calls of this kind so far.
  [[nodiscard]] std::uint64_t calls(SourceCall call) const;
  /// Handles that exist, and how many of them are mapped.
  [[nodiscard]] std::size_t handles() const;
  [[nodiscard]] std::size_t mappings() const;
  /// Regions and reservations that exist.
  [[nodiscard]] std::size_t regions() const;
  [[nodiscard]] std::size_t reservations() const;
  /// Bytes of the handles and regions that exist.
  [[nodiscard]] std::size_t used_bytes() const;
  /// Whether all of [address, address + bytes) is mapped with access, or lies in one region.
  [[nodiscard]] bool accessible(Address address, std::size_t bytes) const;
  /// What a caller did that a driver refuses, first things first; empty if nothing.
  [[nodiscard]] std::vector<std::string> violations() const;

 private:
  struct MappedHandle {
    std::size_t bytes = 0;
    Handle handle = 0;
    bool access = false;
  };
  struct PhysicalHandle {
    std::size_t bytes = 0;
    bool mapped = false;
  };
  struct Injection {
    std::uint64_t in = 0;  ///< calls until it fails; 0: never
    bool for_ever = false;
    Outcome outcome = Outcome::failed;
  };
  [[nodiscard]] bool injected(SourceCall call, SourceResult* result);
  SourceResult refuse(const char* what, Address address);
  void charge(double microseconds);

  const Options options_;
  mutable std::mutex mutex_;
  // mutex_ guards what follows.
  std::array<Injection, kSourceCalls> injections_{};
  std::array<std::uint64_t, kSourceCalls> calls_{};
  std::map<Address, std::size_t> reservations_;
  std::map<Address, MappedHandle> mappings_;
  std::unordered_map<Handle, PhysicalHandle> handles_;
  std::map<Address, std::size_t> regions_;
  std::map<std::size_t, std::vector<Address>> region_addresses_;  // freed, by size, to reuse
  std::vector<std::string> violations_;
  Address next_reservation_, next_region_;
  Handle next_handle_ = 1;
  std::size_t used_ = 0;
  double modelled_us_ = 0;
};

/// A timeline whose streams make progress only when a test says so. It knows from records, waits
/// and answers which work is ordered before which, so that a test can tell whether memory was
/// handed on too early.
/// Thread safety: every call may be made from any thread; two calls about one stream at a time are
/// a violation, as are calls about points of a stream that captures.
class SimulatedTimeline final : public Timeline {
 public:
  /// `immediate`: streams run by themselves, so that every recorded point has passed.
  explicit SimulatedTimeline(bool immediate = false) : immediate_(immediate) {}

  [[nodiscard]] bool knows(StreamId stream) const noexcept override;
  [[nodiscard]] bool capturing(StreamId stream) const noexcept override;
  bool record(StreamId stream, Point point) noexcept override;
  [[nodiscard]] bool passed(StreamId stream, Point point) noexcept override;
  bool wait(StreamId waiter, StreamId stream, Point point) noexcept override;
  bool synchronize(StreamId stream, Point point) noexcept override;
  void forget(StreamId stream, Point point) noexcept override;

  void add_stream(StreamId stream);
  /// The stream is destroyed: it is unknown from now on, but its points can still be asked about.
  void remove_stream(StreamId stream);
  void set_capturing(StreamId stream, bool capturing);
  /// Gives the stream a piece of work; returns its number, 1, 2, 3 … on each stream.
  std::uint64_t work(StreamId stream);
  /// Lets the stream do up to `steps` things (work, records, waits that are fulfilled). Returns how
  /// many it did.
  std::size_t run(StreamId stream, std::size_t steps = ~std::size_t{0});
  /// Lets every stream finish.
  void run_all();
  /// Lets a stream finish while the host waits for it.
  void finish(StreamId stream);
  /// Whether what `waiter` is given from now on starts after piece `work` of `stream` is done: by
  /// stream order, by waits, or because the host was told that it has passed.
  [[nodiscard]] bool ordered(StreamId waiter, StreamId stream, std::uint64_t work) const;
  /// The next `count` records or waits fail.
  void fail_records(std::uint64_t count);
  void fail_waits(std::uint64_t count);
  /// Points that were recorded and not forgotten.
  [[nodiscard]] std::size_t live_points() const;
  [[nodiscard]] std::uint64_t queries() const;
  [[nodiscard]] std::vector<std::string> violations() const;

 private:
  using Clock = std::unordered_map<StreamId, std::uint64_t>;  // work done on each stream
  struct Item {
    enum class Kind : std::uint8_t { work, record, wait } kind = Kind::work;
    StreamId stream = 0;  // wait: the other one
    Point point = 0;
  };
  struct RecordedPoint {
    bool passed = false;
    Clock clock;
  };
  struct Stream {
    bool known = true;
    bool capturing = false;
    std::uint64_t issued = 0;
    Point last_recorded = 0;
    Point forgotten = 0;
    std::deque<Item> queue;
    Clock clock;  // what the next piece of work comes after
    std::map<Point, RecordedPoint> points;
  };
  /// Marks a call about a stream as in progress; a second one is a violation.
  class Visit;

  [[nodiscard]] bool step(Stream& stream);
  [[nodiscard]] bool point_passed(StreamId stream, Point point) const;
  void run_everything();
  static void join(Clock& into, const Clock& other);
  void violation(std::string what);

  const bool immediate_;
  mutable std::mutex mutex_;
  // mutex_ guards what follows.
  std::unordered_map<StreamId, Stream> streams_;
  Clock host_;  // what the host was told
  std::unordered_map<StreamId, int> visits_;
  std::uint64_t failing_records_ = 0, failing_waits_ = 0, queries_ = 0;
  std::vector<std::string> violations_;
};

}  // namespace forebay::pool
