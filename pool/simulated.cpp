#include "forebay/pool/simulated.hpp"

#include <algorithm>

#include "pool/cost_model.hpp"

namespace forebay::pool {
namespace {

// Far from anything that a process maps, so that a stray pointer is never one of ours.
constexpr Address kFirstReservation = Address{1} << 44;
constexpr Address kFirstRegion = Address{1} << 45;
constexpr int kInjected = 999;
constexpr int kRefused = 801;

}  // namespace

SimulatedSource::SimulatedSource(const Options& options)
    : options_(options), next_reservation_(kFirstReservation), next_region_(kFirstRegion) {}

SourceTraits SimulatedSource::traits() const noexcept {
  return {"simulated", options_.virtual_memory, options_.granularity, options_.total, true};
}

std::size_t SimulatedSource::free_bytes() const noexcept {
  const std::lock_guard lock(mutex_);
  return options_.total - used_;
}

double SimulatedSource::modelled_us() const noexcept {
  const std::lock_guard lock(mutex_);
  return modelled_us_;
}

void SimulatedSource::charge(double microseconds) { modelled_us_ += microseconds; }

bool SimulatedSource::injected(SourceCall call, SourceResult* result) {
  const auto kind = static_cast<std::size_t>(call);
  ++calls_[kind];
  Injection& injection = injections_[kind];
  if (injection.in == 0 || --injection.in > 0) return false;
  *result = {injection.outcome, kInjected};
  if (injection.for_ever) injection.in = 1;
  return true;
}

SourceResult SimulatedSource::refuse(const char* what, Address address) {
  violations_.push_back(std::string(what) + " at " + std::to_string(address));
  return {Outcome::failed, kRefused};
}

SourceResult SimulatedSource::reserve(std::size_t bytes, Address* address) noexcept {
  const std::lock_guard lock(mutex_);
  SourceResult result;
  if (injected(SourceCall::reserve, &result)) return result;
  if (!options_.virtual_memory) return {Outcome::failed, kRefused};
  charge(cost::kReserve);
  if (bytes == 0 || bytes % options_.granularity != 0) return refuse("reserve of a part", bytes);
  *address = next_reservation_;
  next_reservation_ += round_up(bytes, options_.granularity) + options_.granularity;
  reservations_[*address] = bytes;
  return {};
}

SourceResult SimulatedSource::unreserve(Address address, std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  SourceResult result;
  if (injected(SourceCall::unreserve, &result)) return result;
  const auto reservation = reservations_.find(address);
  if (reservation == reservations_.end() || reservation->second != bytes) {
    return refuse("unreserve of what is not reserved", address);
  }
  const auto inside = mappings_.lower_bound(address);
  if (inside != mappings_.end() && inside->first < address + bytes) {
    return refuse("unreserve while mapped", address);
  }
  reservations_.erase(reservation);
  return {};
}

SourceResult SimulatedSource::create(std::size_t bytes, Handle* handle) noexcept {
  const std::lock_guard lock(mutex_);
  SourceResult result;
  if (injected(SourceCall::create, &result)) return result;
  if (!options_.virtual_memory) return {Outcome::failed, kRefused};
  charge(cost::kCreate.at(bytes));
  if (bytes == 0 || bytes % options_.granularity != 0) return refuse("create of a part", bytes);
  if (bytes > options_.total - used_) return {Outcome::out_of_memory, 2};
  used_ += bytes;
  *handle = next_handle_++;
  handles_[*handle] = {bytes, false};
  return {};
}

SourceResult SimulatedSource::map(Address address, std::size_t bytes, Handle handle) noexcept {
  const std::lock_guard lock(mutex_);
  SourceResult result;
  if (injected(SourceCall::map, &result)) return result;
  charge(cost::kMap.at(bytes));
  const auto physical = handles_.find(handle);
  if (physical == handles_.end()) return refuse("map of a handle that does not exist", address);
  if (physical->second.mapped) return refuse("map of a handle that is mapped", address);
  if (physical->second.bytes != bytes) return refuse("map of a part of a handle", address);
  if (address % options_.granularity != 0) return refuse("map between granules", address);
  auto reservation = reservations_.upper_bound(address);
  if (reservation == reservations_.begin() ||
      address + bytes > (--reservation)->first + reservation->second) {
    return refuse("map outside of what is reserved", address);
  }
  auto after = mappings_.lower_bound(address);
  if (after != mappings_.end() && after->first < address + bytes) {
    return refuse("map over another mapping", address);
  }
  if (after != mappings_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second.bytes > address) {
      return refuse("map over another mapping", address);
    }
  }
  physical->second.mapped = true;
  mappings_[address] = {bytes, handle, false};
  return {};
}

SourceResult SimulatedSource::set_access(Address address, std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  SourceResult result;
  if (injected(SourceCall::set_access, &result)) return result;
  Address reached = address;
  for (auto at = mappings_.find(address); at != mappings_.end() && reached < address + bytes;
       ++at) {
    if (at->first != reached) break;
    charge(cost::kSetAccess.at(at->second.bytes));
    reached += at->second.bytes;
  }
  if (reached != address + bytes) return refuse("set access where nothing is mapped", address);
  for (auto at = mappings_.find(address); at != mappings_.end() && at->first < reached; ++at) {
    at->second.access = true;
  }
  return {};
}

SourceResult SimulatedSource::unmap(Address address, std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  SourceResult result;
  if (injected(SourceCall::unmap, &result)) return result;
  const auto mapping = mappings_.find(address);
  if (mapping == mappings_.end() || mapping->second.bytes != bytes) {
    return refuse("unmap of what is no mapping", address);
  }
  charge(cost::kUnmap.at(bytes));
  handles_[mapping->second.handle].mapped = false;
  mappings_.erase(mapping);
  return {};
}

SourceResult SimulatedSource::release(Handle handle, std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  SourceResult result;
  if (injected(SourceCall::release, &result)) return result;
  const auto physical = handles_.find(handle);
  if (physical == handles_.end()) return refuse("release of what does not exist", handle);
  if (physical->second.mapped) return refuse("release while mapped", handle);
  if (physical->second.bytes != bytes) return refuse("release of another size", handle);
  charge(cost::kRelease.at(bytes));
  used_ -= bytes;
  handles_.erase(physical);
  return {};
}

SourceResult SimulatedSource::allocate_region(std::size_t bytes, Address* address) noexcept {
  const std::lock_guard lock(mutex_);
  SourceResult result;
  if (injected(SourceCall::allocate_region, &result)) return result;
  charge(cost::kAllocateRegion.at(bytes));
  if (bytes == 0) return refuse("allocate of nothing", 0);
  if (bytes > options_.total - used_) return {Outcome::out_of_memory, 2};
  used_ += bytes;
  std::vector<Address>& again = region_addresses_[bytes];
  if (again.empty()) {
    *address = next_region_;
    next_region_ = round_up(next_region_ + bytes, options_.region_alignment);
  } else {
    *address = again.back();
    again.pop_back();
  }
  regions_[*address] = bytes;
  return {};
}

SourceResult SimulatedSource::free_region(Address address, std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  SourceResult result;
  if (injected(SourceCall::free_region, &result)) return result;
  const auto region = regions_.find(address);
  if (region == regions_.end() || region->second != bytes) {
    return refuse("free of what is no region", address);
  }
  charge(cost::kFreeRegion.at(bytes));
  used_ -= bytes;
  region_addresses_[bytes].push_back(address);
  regions_.erase(region);
  return {};
}

void SimulatedSource::fail(SourceCall call, std::uint64_t nth, bool for_ever, Outcome outcome) {
  const std::lock_guard lock(mutex_);
  injections_[static_cast<std::size_t>(call)] = {nth, for_ever, outcome};
}

std::uint64_t SimulatedSource::calls(SourceCall call) const {
  const std::lock_guard lock(mutex_);
  return calls_[static_cast<std::size_t>(call)];
}

std::size_t SimulatedSource::handles() const {
  const std::lock_guard lock(mutex_);
  return handles_.size();
}

std::size_t SimulatedSource::mappings() const {
  const std::lock_guard lock(mutex_);
  return mappings_.size();
}

std::size_t SimulatedSource::regions() const {
  const std::lock_guard lock(mutex_);
  return regions_.size();
}

std::size_t SimulatedSource::reservations() const {
  const std::lock_guard lock(mutex_);
  return reservations_.size();
}

std::size_t SimulatedSource::used_bytes() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

bool SimulatedSource::accessible(Address address, std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  if (auto region = regions_.upper_bound(address); region != regions_.begin()) {
    --region;
    if (address + bytes <= region->first + region->second) return true;
  }
  Address reached = address;
  while (reached < address + bytes) {
    auto mapping = mappings_.upper_bound(reached);
    if (mapping == mappings_.begin()) return false;
    --mapping;
    if (!mapping->second.access || mapping->first + mapping->second.bytes <= reached) return false;
    reached = mapping->first + mapping->second.bytes;
  }
  return true;
}

std::vector<std::string> SimulatedSource::violations() const {
  const std::lock_guard lock(mutex_);
  return violations_;
}

// Timeline ---------------------------------------------------------------------------------------

class SimulatedTimeline::Visit {
 public:
  Visit(SimulatedTimeline& timeline, StreamId stream) : timeline_(timeline), stream_(stream) {
    const std::lock_guard lock(timeline.mutex_);
    if (++timeline.visits_[stream] > 1) timeline.violation("two calls about one stream at a time");
  }
  ~Visit() {
    const std::lock_guard lock(timeline_.mutex_);
    --timeline_.visits_[stream_];
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

 private:
  SimulatedTimeline& timeline_;
  StreamId stream_;
};

void SimulatedTimeline::violation(std::string what) { violations_.push_back(std::move(what)); }

void SimulatedTimeline::join(Clock& into, const Clock& other) {
  for (const auto& [stream, work] : other) into[stream] = std::max(into[stream], work);
}

bool SimulatedTimeline::knows(StreamId stream) const noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(stream);
  return found != streams_.end() && found->second.known;
}

bool SimulatedTimeline::capturing(StreamId stream) const noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(stream);
  return found != streams_.end() && found->second.capturing;
}

bool SimulatedTimeline::record(StreamId stream, Point point) noexcept {
  const Visit visit(*this, stream);
  const std::lock_guard lock(mutex_);
  Stream& state = streams_[stream];
  if (state.capturing) violation("a record on a stream that captures");
  if (point <= state.last_recorded) violation("points recorded out of order");
  if (failing_records_ > 0) {
    --failing_records_;
    return false;
  }
  state.last_recorded = point;
  state.points[point] = {false, state.clock};
  state.queue.push_back({Item::Kind::record, stream, point});
  if (immediate_) run_everything();
  return true;
}

bool SimulatedTimeline::point_passed(StreamId stream, Point point) const {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return true;
  // What was forgotten had passed; what was never recorded has not.
  const auto at = found->second.points.find(point);
  return at == found->second.points.end() ? point <= found->second.last_recorded
                                          : at->second.passed;
}

bool SimulatedTimeline::passed(StreamId stream, Point point) noexcept {
  const Visit visit(*this, stream);
  const std::lock_guard lock(mutex_);
  ++queries_;
  Stream& state = streams_[stream];
  if (state.capturing) violation("a query on a stream that captures");
  if (state.points.find(point) == state.points.end()) {
    violation("a query of a point that is not recorded");
    return false;
  }
  if (!state.points[point].passed) return false;
  join(host_, state.points[point].clock);
  return true;
}

bool SimulatedTimeline::wait(StreamId waiter, StreamId stream, Point point) noexcept {
  const Visit visit(*this, waiter);
  const Visit other(*this, stream);
  const std::lock_guard lock(mutex_);
  Stream& state = streams_[waiter];
  if (state.capturing) violation("a stream that captures was made to wait");
  if (failing_waits_ > 0) {
    --failing_waits_;
    return false;
  }
  const auto recorded = streams_[stream].points.find(point);
  if (recorded == streams_[stream].points.end()) {
    violation("a wait for a point that is not recorded");
    return false;
  }
  state.queue.push_back({Item::Kind::wait, stream, point});
  join(state.clock, recorded->second.clock);
  if (immediate_) run_everything();
  return true;
}

bool SimulatedTimeline::synchronize(StreamId stream, Point point) noexcept {
  const Visit visit(*this, stream);
  const std::lock_guard lock(mutex_);
  if (streams_[stream].capturing) violation("the host waited for a stream that captures");
  if (streams_[stream].points.find(point) == streams_[stream].points.end()) {
    violation("the host waited for a point that is not recorded");
    return false;
  }
  while (!streams_[stream].points[point].passed) {
    bool progress = false;
    for (auto& [id, other] : streams_) {
      while (!streams_[stream].points[point].passed && step(other)) progress = true;
    }
    if (!progress) {
      violation("a point can never pass");
      return false;
    }
  }
  join(host_, streams_[stream].points[point].clock);
  return true;
}

void SimulatedTimeline::forget(StreamId stream, Point point) noexcept {
  const Visit visit(*this, stream);
  const std::lock_guard lock(mutex_);
  auto& points = streams_[stream].points;
  streams_[stream].forgotten = point;
  // A point that has yet to pass is still needed by the streams that wait for it.
  for (auto at = points.begin(); at != points.end() && at->first <= point;) {
    at = at->second.passed ? points.erase(at) : std::next(at);
  }
}

void SimulatedTimeline::add_stream(StreamId stream) {
  const std::lock_guard lock(mutex_);
  streams_[stream].known = true;
}

void SimulatedTimeline::remove_stream(StreamId stream) {
  const std::lock_guard lock(mutex_);
  streams_[stream].known = false;
}

void SimulatedTimeline::set_capturing(StreamId stream, bool capturing) {
  const std::lock_guard lock(mutex_);
  streams_[stream].capturing = capturing;
}

std::uint64_t SimulatedTimeline::work(StreamId stream) {
  const std::lock_guard lock(mutex_);
  Stream& state = streams_[stream];
  state.clock[stream] = ++state.issued;
  state.queue.push_back({Item::Kind::work, stream, 0});
  if (immediate_) run_everything();
  return state.issued;
}

bool SimulatedTimeline::step(Stream& stream) {
  if (stream.queue.empty()) return false;
  const Item& item = stream.queue.front();
  if (item.kind == Item::Kind::wait && !point_passed(item.stream, item.point)) return false;
  if (item.kind == Item::Kind::record) {
    const auto at = stream.points.find(item.point);
    if (at != stream.points.end()) at->second.passed = true;
    if (item.point <= stream.forgotten) stream.points.erase(item.point);
  }
  stream.queue.pop_front();
  return true;
}

std::size_t SimulatedTimeline::run(StreamId stream, std::size_t steps) {
  const std::lock_guard lock(mutex_);
  std::size_t done = 0;
  while (done < steps && step(streams_[stream])) ++done;
  return done;
}

void SimulatedTimeline::run_everything() {
  for (bool progress = true; progress;) {
    progress = false;
    for (auto& [id, stream] : streams_) {
      while (step(stream)) progress = true;
    }
  }
}

void SimulatedTimeline::run_all() {
  const std::lock_guard lock(mutex_);
  run_everything();
}

void SimulatedTimeline::finish(StreamId stream) {
  const std::lock_guard lock(mutex_);
  run_everything();
  join(host_, streams_[stream].clock);
}

bool SimulatedTimeline::ordered(StreamId waiter, StreamId stream, std::uint64_t work) const {
  const std::lock_guard lock(mutex_);
  if (waiter == stream) return true;
  const auto covers = [&](const Clock& clock) {
    const auto at = clock.find(stream);
    return at != clock.end() && at->second >= work;
  };
  const auto found = streams_.find(waiter);
  return covers(host_) || (found != streams_.end() && covers(found->second.clock));
}

void SimulatedTimeline::fail_records(std::uint64_t count) {
  const std::lock_guard lock(mutex_);
  failing_records_ = count;
}

void SimulatedTimeline::fail_waits(std::uint64_t count) {
  const std::lock_guard lock(mutex_);
  failing_waits_ = count;
}

std::size_t SimulatedTimeline::live_points() const {
  const std::lock_guard lock(mutex_);
  std::size_t points = 0;
  for (const auto& [id, stream] : streams_) points += stream.points.size();
  return points;
}

std::uint64_t SimulatedTimeline::queries() const {
  const std::lock_guard lock(mutex_);
  return queries_;
}

std::vector<std::string> SimulatedTimeline::violations() const {
  const std::lock_guard lock(mutex_);
  return violations_;
}

}  // namespace forebay::pool
