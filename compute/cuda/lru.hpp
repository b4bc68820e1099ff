// A bounded map that forgets what was not used for longest.
#pragma once

#include <cstddef>
#include <list>
#include <unordered_map>
#include <utility>

namespace forebay::cuda {

/// Thread safety: none. Cost of a call: one hash and constant time.
/// Invariant: at most `capacity` entries, and at least one, so that the newest always stays.
template <typename Key, typename Value, typename Hash>
class Lru {
 public:
  explicit Lru(std::size_t capacity) : capacity_(capacity == 0 ? 1 : capacity) {}

  /// The value of `key`, now the most recently used, or null.
  [[nodiscard]] Value* find(const Key& key) {
    const auto found = places_.find(key);
    if (found == places_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return &found->second->second;
  }
  /// REQUIRES: `key` is not there.
  Value& insert(const Key& key, Value value) {
    entries_.emplace_front(key, std::move(value));
    places_.emplace(key, entries_.begin());
    if (entries_.size() > capacity_) {
      places_.erase(entries_.back().first);
      entries_.pop_back();
    }
    return entries_.front().second;
  }
  void clear() noexcept {
    places_.clear();
    entries_.clear();
  }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

 private:
  std::size_t capacity_;
  std::list<std::pair<Key, Value>> entries_;  // most recently used first
  std::unordered_map<Key, typename std::list<std::pair<Key, Value>>::iterator, Hash> places_;
};

}  // namespace forebay::cuda
