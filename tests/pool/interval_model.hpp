// A naive model of a span engine: for each byte, what it is and who may have it.
#pragma once

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "pool/span_engine.hpp"

namespace forebay::pool::test {

/// Intervals of equal bytes, in a map; every question walks them. The stamp of a free byte is the
/// one under which it was freed, whatever the engine made of it since.
class IntervalModel {
 public:
  struct Byte {
    ExtentState state = ExtentState::hole;
    Stamp stamp;
    friend bool operator==(const Byte&, const Byte&) = default;
    [[nodiscard]] bool free_for(Owner owner) const {
      return state == ExtentState::free && (stamp.owner == kEverybody || stamp.owner == owner);
    }
  };
  static constexpr Byte kUsed{ExtentState::used, {}};
  static constexpr Byte kHole{ExtentState::hole, {}};
  static constexpr Byte free_under(Stamp stamp) { return {ExtentState::free, stamp}; }

  IntervalModel(Address begin, std::size_t bytes, Byte byte) : end_(begin + bytes) {
    bytes_[begin] = byte;
  }

  void set(Address begin, std::size_t bytes, Byte byte) {
    cut(begin);
    cut(begin + bytes);
    bytes_.erase(bytes_.lower_bound(begin), bytes_.lower_bound(begin + bytes));
    const auto at = bytes_.emplace(begin, byte).first;
    if (const auto next = std::next(at); next != bytes_.end() && next->second == byte) {
      bytes_.erase(next);
    }
    if (at != bytes_.begin() && std::prev(at)->second == byte) bytes_.erase(at);
  }
  /// Every byte for which `change` answers true was changed by it.
  template <typename Change>
  void change(Change&& change) {
    for (auto& [address, byte] : bytes_) change(byte);
    for (auto at = bytes_.begin(); at != bytes_.end();) {
      const auto next = std::next(at);
      if (next == bytes_.end()) break;
      if (next->second == at->second) {
        bytes_.erase(next);
      } else {
        at = next;
      }
    }
  }
  void complete(Owner owner, Point passed) {
    change([&](Byte& byte) {
      if (byte.state == ExtentState::free && byte.stamp.owner == owner &&
          byte.stamp.point <= passed) {
        byte.stamp = {};
      }
    });
  }

  /// Whether `holds` is true of every byte of [begin, begin + bytes).
  template <typename Predicate>
  [[nodiscard]] bool every(Address begin, std::size_t bytes, Predicate&& holds) const {
    for (auto at = covering(begin); at != bytes_.end() && at->first < begin + bytes; ++at) {
      if (!holds(at->second)) return false;
    }
    return begin >= bytes_.begin()->first && begin + bytes <= end_;
  }
  /// The longest run of bytes of which `holds` is true.
  template <typename Predicate>
  [[nodiscard]] std::size_t longest(Predicate&& holds) const {
    std::size_t longest = 0, run = 0;
    each([&](Address, std::size_t bytes, const Byte& byte) {
      run = holds(byte) ? run + bytes : 0;
      longest = std::max(longest, run);
    });
    return longest;
  }
  template <typename Predicate>
  [[nodiscard]] std::size_t count(Predicate&& holds) const {
    std::size_t sum = 0;
    each([&](Address, std::size_t bytes, const Byte& byte) { sum += holds(byte) ? bytes : 0; });
    return sum;
  }
  template <typename Visit>
  void each(Visit&& visit) const {
    for (auto at = bytes_.begin(); at != bytes_.end(); ++at) {
      const auto next = std::next(at);
      visit(at->first, (next == bytes_.end() ? end_ : next->first) - at->first, at->second);
    }
  }
  [[nodiscard]] const Byte& at(Address address) const { return covering(address)->second; }

  /// Empty, or where the engine says something of a byte that the model does not allow. It may put
  /// memory off to a later point of the same owner; it may never be ahead, nor name another owner.
  [[nodiscard]] std::string compare(const SpanEngine& engine) const {
    std::string wrong;
    engine.each([&](ExtentId, const SpanEngine::Extent& extent) {
      for (auto at = covering(extent.address); at != bytes_.end() && at->first < extent.end();
           ++at) {
        const Byte& byte = at->second;
        bool agrees = byte.state == extent.state;
        if (agrees && byte.state == ExtentState::free) {
          const Stamp& stamp = extent.stamp;
          // What has passed here may be pending there, behind a neighbour's later point.
          agrees = byte.stamp.owner == kEverybody ||
                   (stamp.owner == byte.stamp.owner && stamp.point >= byte.stamp.point);
        }
        if (!agrees && wrong.empty()) {
          wrong = "the engine is wrong about the bytes from " + std::to_string(at->first) + " on";
        }
      }
    });
    return wrong;
  }

 private:
  [[nodiscard]] std::map<Address, Byte>::const_iterator covering(Address address) const {
    const auto after = bytes_.upper_bound(address);
    return after == bytes_.begin() ? after : std::prev(after);
  }
  void cut(Address address) {
    if (address >= end_) return;
    const Byte byte = covering(address)->second;
    bytes_.emplace(address, byte);
  }

  std::map<Address, Byte> bytes_;  // by the first byte
  Address end_;
};

}  // namespace forebay::pool::test
