#include "pool/backing.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "forebay/pool/pool.hpp"
#include "pool/units.hpp"

namespace forebay::pool {
namespace {

// For one more than `count`, so that adding it cannot fail; doubling, so that many cost what they
// are.
template <typename Element>
void make_room(std::vector<Element>& elements, std::size_t count) {
  if (count >= elements.capacity()) elements.reserve(2 * count + 8);
}

}  // namespace

SourceResult Backing::failed(const char* call, SourceResult result) noexcept {
  try {
    last_failure_ = std::string(call) +
                    (result.outcome == Outcome::out_of_memory ? " found no memory" : " failed") +
                    " (code " + std::to_string(result.code) + ")";
  } catch (const std::bad_alloc&) {
    last_failure_.clear();
  }
  return result;
}

SourceResult Backing::lacks_host_memory() noexcept {
  last_failure_ = "no host memory";  // short enough to need none
  return {Outcome::out_of_memory, 0};
}

Backing::Made Backing::to_be_made() {
  Mappings one;
  one.try_emplace(0);
  return one.extract(one.begin());
}

void Backing::count(std::int64_t mapped, std::int64_t idle) noexcept {
  mapped_.set(mapped_.current() + static_cast<std::uint64_t>(mapped));
  idle_bytes_.set(idle_bytes_.current() + static_cast<std::uint64_t>(idle));
  held_.set(mapped_.current() + idle_bytes_.current());
}

std::size_t Backing::bytes_left() const noexcept {
  const std::size_t held = held_.current();
  return held < limit_ ? std::min(limit_ - held, room_) : 0;
}

std::size_t Backing::left() const noexcept {
  return round_down(bytes_left(), source_.traits().granularity);
}

std::size_t Backing::missing(std::size_t need) const noexcept {
  const std::size_t obtainable = idle_bytes_.current() + left();
  return need > obtainable ? need - obtainable : 0;
}

void Backing::take_room(std::size_t bytes) noexcept { room_ -= std::min(room_, bytes); }

void Backing::give_room(std::size_t bytes) noexcept { room_ += std::min(~room_, bytes); }

void Backing::limit(std::size_t bytes, std::size_t headroom) noexcept {
  limit_ = std::min(bytes, capacity_);
  room_ = ~std::size_t{0};
  if (headroom == 0) return;
  const std::size_t free = source_.free_bytes();
  room_ = free > headroom ? free - headroom : 0;
}

void Backing::set_observer(MappingCallback observer) {
  observer_ = std::move(observer);
  for (const auto& [address, mapping] : mappings_) tell(address, mapping.bytes, true);
}

void Backing::tell(Address address, std::size_t bytes, bool mapped) const noexcept {
  if (observer_) observer_(address, bytes, mapped);
}

SourceResult Backing::map(Address address, std::size_t bytes, std::vector<Made>& made) noexcept {
  made.clear();
  SourceResult result;
  try {
    result = map_handles(address, bytes, made);
  } catch (const std::bad_alloc&) {
    result = lacks_host_memory();
  }
  if (result.ok()) {
    result = source_.set_access(address, bytes);
    if (result.ok()) {
      tell(address, bytes, true);
      return result;
    }
    failed("setting access", result);
  }
  // Whatever cannot be unmapped either stays in `made`.
  std::erase_if(made, [this](const Made& one) { return unmap_untold(one.mapped()).ok(); });
  return result;
}

// Everything that is needed to note a handle is there before the source makes or maps it. Throws
// std::bad_alloc.
SourceResult Backing::map_handles(Address address, std::size_t bytes, std::vector<Made>& made) {
  for (std::size_t total = 0; total < bytes; total += made.back().mapped().bytes) {
    // The largest that fits, so that few are needed.
    auto best = idle_.end();
    for (auto idle = idle_.begin(); idle != idle_.end(); ++idle) {
      if (idle->bytes <= bytes - total && (best == idle_.end() || idle->bytes > best->bytes)) {
        best = idle;
      }
    }
    if (best == idle_.end()) {
      const std::size_t wanted = std::min(handle_size_, bytes - total);
      // What does not fit here gives way to what does.
      if (left() < wanted && !idle_.empty()) {
        const std::size_t shortage = wanted - left();
        release_idle(held_.current() - std::min<std::size_t>(held_.current(), shortage));
      }
      make_room(idle_, handles_);
      Idle created{0, std::min(wanted, left())};
      if (created.bytes == 0) return {Outcome::out_of_memory, 0};
      const SourceResult result = source_.create(created.bytes, &created.handle);
      if (!result.ok()) return failed("creating memory", result);
      take_room(created.bytes);
      idle_.push_back(created);
      ++handles_;
      count(0, static_cast<std::int64_t>(created.bytes));
      best = idle_.end() - 1;
    }
    make_room(made, made.size());
    Made one = to_be_made();
    const Mapping mapping{address + total, best->bytes, best->handle};
    const SourceResult result = source_.map(mapping.address, mapping.bytes, mapping.handle);
    if (!result.ok()) return failed("mapping memory", result);
    *best = idle_.back();
    idle_.pop_back();
    count(static_cast<std::int64_t>(mapping.bytes), -static_cast<std::int64_t>(mapping.bytes));
    one.mapped() = mapping;
    made.push_back(std::move(one));
  }
  return {};
}

SourceResult Backing::unmap(const Mapping& mapping) noexcept {
  tell(mapping.address, mapping.bytes, false);
  const SourceResult result = unmap_untold(mapping);
  if (!result.ok()) tell(mapping.address, mapping.bytes, true);
  return result;
}

SourceResult Backing::unmap_untold(const Mapping& mapping) noexcept {
  const SourceResult result = source_.unmap(mapping.address, mapping.bytes);
  if (!result.ok()) return failed("unmapping memory", result);
  idle_.push_back({mapping.handle, mapping.bytes});
  const auto bytes = static_cast<std::int64_t>(mapping.bytes);
  count(-bytes, bytes);
  return result;
}

SourceResult Backing::take_region(std::size_t bytes, Made& made) noexcept {
  try {
    made = to_be_made();
  } catch (const std::bad_alloc&) {
    return lacks_host_memory();
  }
  Mapping& region = made.mapped();
  region = {0, bytes, 0};
  const SourceResult result = source_.allocate_region(bytes, &region.address);
  if (!result.ok()) return failed("allocating a region", result);
  take_room(bytes);
  count(static_cast<std::int64_t>(bytes), 0);
  tell(region.address, bytes, true);
  return result;
}

SourceResult Backing::allocate_region(std::size_t bytes, std::size_t alignment,
                                      Made& made) noexcept {
  const std::size_t granularity = source_.traits().granularity;
  const std::size_t least = round_up_to_multiple(bytes, granularity);
  if (least > left()) return {Outcome::out_of_memory, 0};
  const std::size_t wanted = std::min(std::max(handle_size_, least), left());
  SourceResult result = take_region(wanted, made);
  if (!result.ok() && wanted > least) result = take_region(least, made);
  if (!result.ok()) return result;
  const Mapping region = made.mapped();
  if (round_up(region.address, alignment) + bytes <= region.address + region.bytes) return result;
  // The source aligns less than the request needs: once more, with slack.
  if (!free_region(region).ok()) return {};  // it stays ours, so that nothing is lost
  const std::size_t with_slack = round_up_to_multiple(bytes + alignment, granularity);
  if (with_slack > left()) return {Outcome::out_of_memory, 0};
  return take_region(with_slack, made);
}

SourceResult Backing::allocate_exactly(std::size_t bytes, std::size_t alignment,
                                       Made& made) noexcept {
  const std::size_t with_slack = bytes + (alignment > kMinAlignment ? alignment : 0);
  if (with_slack > bytes_left()) return {Outcome::out_of_memory, 0};
  return take_region(with_slack, made);
}

SourceResult Backing::free_region(const Mapping& mapping) noexcept {
  tell(mapping.address, mapping.bytes, false);
  const SourceResult result = source_.free_region(mapping.address, mapping.bytes);
  if (!result.ok()) {
    tell(mapping.address, mapping.bytes, true);
    return failed("freeing a region", result);
  }
  give_room(mapping.bytes);
  count(-static_cast<std::int64_t>(mapping.bytes), 0);
  return result;
}

std::size_t Backing::release_idle(std::size_t keep) noexcept {
  std::size_t released = 0;
  for (std::size_t i = idle_.size(); i-- > 0 && held_.current() > keep;) {
    const SourceResult result = source_.release(idle_[i].handle, idle_[i].bytes);
    if (!result.ok()) {
      failed("releasing memory", result);
      continue;
    }
    released += idle_[i].bytes;
    give_room(idle_[i].bytes);
    count(0, -static_cast<std::int64_t>(idle_[i].bytes));
    --handles_;
    idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return released;
}

Mapping Backing::add(Made made) noexcept {
  made.key() = made.mapped().address;
  return mappings_.insert(std::move(made)).position->second;
}

void Backing::remove(const Mapping& mapping) noexcept { mappings_.erase(mapping.address); }

const Mapping* Backing::last_inside(Address begin, Address end) const noexcept {
  auto after = mappings_.lower_bound(end);
  while (after != mappings_.begin()) {
    const Mapping& mapping = (--after)->second;
    if (mapping.address < begin) return nullptr;
    if (mapping.address + mapping.bytes <= end) return &mapping;
  }
  return nullptr;
}

std::string Backing::validate() const {
  std::uint64_t mapped = 0;
  Address reached = 0;
  for (const auto& [address, mapping] : mappings_) {
    if (address != mapping.address || address < reached) return "backing: mappings overlap";
    reached = address + mapping.bytes;
    mapped += mapping.bytes;
  }
  std::uint64_t idle = 0;
  for (const Idle& handle : idle_) idle += handle.bytes;
  if (mapped != mapped_.current()) {
    return "backing: " + std::to_string(mapped_.current()) + " bytes counted as mapped, " +
           std::to_string(mapped) + " found";
  }
  if (idle != idle_bytes_.current()) return "backing: idle handles differ from their count";
  if (mapped + idle != held_.current()) return "backing: mapped + idle handles is not held";
  if (held_.current() > capacity_) return "backing: more held than the capacity";
  return {};
}

}  // namespace forebay::pool
