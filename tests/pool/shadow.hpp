// A shadow of device memory: who used each byte last, on every stream.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "forebay/pool/simulated.hpp"

namespace forebay::pool::test {

/// Segments of addresses with the latest piece of work of each stream on them. Whoever gets memory
/// must be ordered after all of it, or a byte was handed on too early.
class Shadow {
 public:
  explicit Shadow(SimulatedTimeline& timeline) : timeline_(timeline) {}

  /// Memory was handed to `stream`. Empty, or what is wrong with it.
  std::string take(Address begin, std::size_t bytes, StreamId stream) {
    const Address end = begin + bytes;
    const auto after = live_.lower_bound(begin);
    if (after != live_.end() && after->first < end) return "it overlaps a live block";
    if (after != live_.begin() && std::prev(after)->second > begin) {
      return "it overlaps a live block";
    }
    cut(begin);
    cut(end);
    for (auto at = segments_.lower_bound(begin); at != segments_.end() && at->first < end; ++at) {
      for (const auto& [user, work] : at->second.uses) {
        if (!timeline_.ordered(stream, user, work)) {
          return "stream " + std::to_string(stream) + " got memory that stream " +
                 std::to_string(user) + " may still use";
        }
      }
    }
    segments_.erase(segments_.lower_bound(begin), segments_.lower_bound(end));
    live_[begin] = end;
    segments_[begin] = {end, {}};
    use(begin, stream);
    return {};
  }
  /// `stream` works on a live block.
  void use(Address begin, StreamId stream) {
    segments_[begin].uses[stream] = timeline_.work(stream);
  }
  void give(Address begin) { live_.erase(begin); }
  /// Whether a stream would have to wait before it may have the byte.
  [[nodiscard]] bool waits(Address at, StreamId stream) const {
    auto segment = segments_.upper_bound(at);
    if (segment == segments_.begin() || (--segment)->second.end <= at) return false;
    for (const auto& [user, work] : segment->second.uses) {
      if (!timeline_.ordered(stream, user, work)) return true;
    }
    return false;
  }

  [[nodiscard]] const std::map<Address, Address>& live() const { return live_; }

 private:
  struct Segment {
    Address end = 0;
    std::map<StreamId, std::uint64_t> uses;
  };
  /// No segment crosses `at` afterwards.
  void cut(Address at) {
    auto segment = segments_.upper_bound(at);
    if (segment == segments_.begin()) return;
    --segment;
    if (segment->first == at || segment->second.end <= at) return;
    segments_[at] = {segment->second.end, segment->second.uses};
    segment->second.end = at;
  }

  SimulatedTimeline& timeline_;
  std::map<Address, Address> live_;
  std::map<Address, Segment> segments_;
};

}  // namespace forebay::pool::test
