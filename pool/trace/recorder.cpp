#include "pool/trace/recorder.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "forebay/pool/pool.hpp"
#include "pool/trace/builder.hpp"
#include "pool/units.hpp"

namespace forebay::pool {
namespace {

/// Streams remembered for a block that is older than the ring, the latest ones: streams come and go
/// while a block lives.
constexpr std::size_t kMaxUses = 16;

}  // namespace

// Memory of the ring is touched as events arrive, since it is left uninitialised.
TraceRecorder::TraceRecorder(std::size_t ring_bytes)
    : capacity_(std::max<std::size_t>(1, ring_bytes / sizeof(Event))),
      start_(std::chrono::steady_clock::now()),
      ring_(std::make_unique_for_overwrite<Event[]>(capacity_)) {}

std::uint64_t TraceRecorder::push(Event event) {
  const std::lock_guard lock(mutex_);
  event.time_us = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                                 std::chrono::steady_clock::now() - start_)
                                                 .count());
  Event& place = ring_[next_ % capacity_];
  if (next_ >= capacity_) apply(next_ - capacity_, place);
  place = event;
  return next_++;
}

void TraceRecorder::apply(std::uint64_t number, const Event& event) {
  switch (event.what) {
    case What::alloc:
      before_[event.address] = {
          number, event.size, event.stream, static_cast<std::uint8_t>(event.alignment_log2), {}};
      break;
    case What::free:
      before_.erase(event.address);
      break;
    case What::use:
      if (const auto found = before_.find(event.address); found != before_.end()) {
        std::vector<StreamId>& uses = found->second.uses;
        std::erase(uses, event.stream);
        uses.push_back(event.stream);
        if (uses.size() > kMaxUses) uses.erase(uses.begin());
      }
      break;
    case What::nothing:
      break;
  }
}

void TraceRecorder::allocated(Address address, std::size_t size, std::size_t alignment,
                              StreamId stream) {
  const unsigned log2 = log2_floor(std::max(alignment, kMinAlignment));
  push({0, address, stream, size & (kMaxTraceBlock - 1), log2 & 0xFFU, What::alloc});
}

void TraceRecorder::used(Address address, StreamId stream) {
  push({0, address, stream, 0, 0, What::use});
}

std::uint64_t TraceRecorder::freeing(Address address, StreamId stream) {
  return push({0, address, stream, 0, 0, What::free});
}

void TraceRecorder::take_back(std::uint64_t event) {
  const std::lock_guard lock(mutex_);
  if (next_ - event <= capacity_) ring_[event % capacity_].what = What::nothing;
}

std::size_t TraceRecorder::metadata_bytes() const {
  const std::lock_guard lock(mutex_);
  // A node of the table has a link beside its entry, and each bucket is a pointer.
  return sizeof *this + capacity_ * sizeof(Event) +
         before_.size() * (sizeof(std::pair<Address, Block>) + 2 * sizeof(void*)) +
         before_.bucket_count() * sizeof(void*);
}

Trace TraceRecorder::trace() const {
  const std::lock_guard lock(mutex_);
  TraceBuilder builder("the recorded trace", "event", BlockNames::reused);
  const std::uint64_t oldest = next_ > capacity_ ? next_ - capacity_ : 0;
  std::unordered_set<Address> live;
  std::vector<std::pair<Address, const Block*>> prologue;
  for (const auto& [address, block] : before_) prologue.emplace_back(address, &block);
  std::sort(prologue.begin(), prologue.end(), [](const auto& left, const auto& right) {
    return left.second->number < right.second->number;
  });
  const auto start = static_cast<std::int64_t>(next_ == 0 ? 0 : ring_[oldest % capacity_].time_us);
  for (const auto& [address, block] : prologue) {
    builder.alloc(start, address, block->size, block->stream, block->alignment_log2);
    live.insert(address);
  }
  builder.end_prologue();
  for (const auto& [address, block] : prologue) {
    for (const StreamId stream : block->uses) builder.use(start, address, stream);
  }
  for (std::uint64_t number = oldest; number < next_; ++number) {
    const Event& event = ring_[number % capacity_];
    builder.at(number + 1);
    const auto time = static_cast<std::int64_t>(event.time_us);
    switch (event.what) {
      case What::alloc:
        // Only a racing double free can have ended the block that was here.
        if (!live.insert(event.address).second) builder.free(time, event.address, event.stream);
        builder.alloc(time, event.address, event.size, event.stream,
                      static_cast<std::uint8_t>(event.alignment_log2));
        break;
      case What::free:
        // A free that was refused while the ring went on is no event.
        if (live.erase(event.address) != 0) builder.free(time, event.address, event.stream);
        break;
      case What::use:
        if (live.count(event.address) != 0) builder.use(time, event.address, event.stream);
        break;
      case What::nothing:
        break;
    }
  }
  return builder.finish("forebay");
}

}  // namespace forebay::pool
