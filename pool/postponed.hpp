// Frees for which the host had no memory.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

#include "forebay/pool/timeline.hpp"

namespace forebay::pool {

/// Their blocks are live still; each is made up for as soon as a call finds memory again. A fixed
/// number of places, since it is for when there is no memory. A free keeps its place while somebody
/// tries it, so that it can come back to it.
///
/// Thread safety: any thread. Cost of `empty`: one load; of what looks for a place: all of them.
class PostponedFrees {
 public:
  struct Free {
    void* pointer = nullptr;
    StreamId stream = 0;
    std::size_t bytes = 0;
  };
  using Place = std::size_t;
  static constexpr std::size_t kMost = 256;

  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  /// Frees that wait; not those that somebody tries.
  [[nodiscard]] std::size_t size() const noexcept { return count_.load(std::memory_order_relaxed); }
  /// False if there is no room.
  [[nodiscard]] bool add(const Free& free) noexcept {
    const std::optional<Place> place = hold();
    if (place) put(*place, free);
    return place.has_value();
  }
  /// A place for a free that may have to be put there; nothing if there is no room.
  [[nodiscard]] std::optional<Place> hold() noexcept {
    const std::lock_guard lock(mutex_);
    for (Place place = 0; place < kMost; ++place) {
      if (entries_[place].state != State::unused) continue;
      entries_[place] = {{}, State::held};
      return place;
    }
    return std::nullopt;
  }
  /// Into a place that was held or taken from.
  void put(Place place, const Free& free) noexcept {
    const std::lock_guard lock(mutex_);
    entries_[place] = {free, State::waiting};
    count_.fetch_add(1, std::memory_order_relaxed);
  }
  /// A place that was held or taken from is needed no longer.
  void drop(Place place) noexcept {
    const std::lock_guard lock(mutex_);
    entries_[place] = {};
  }
  /// Takes the first free that waits at `place` or behind it and says where; false if none does.
  [[nodiscard]] bool take(Place* place, Free* free) noexcept {
    const std::lock_guard lock(mutex_);
    for (; *place < kMost; ++*place) {
      Entry& entry = entries_[*place];
      if (entry.state != State::waiting) continue;
      entry.state = State::held;
      count_.fetch_sub(1, std::memory_order_relaxed);
      *free = entry.free;
      return true;
    }
    return false;
  }
  /// Whether one of a stream is there, or was taken and may come back.
  [[nodiscard]] bool any_of(StreamId stream) noexcept {
    const std::lock_guard lock(mutex_);
    return std::any_of(entries_.begin(), entries_.end(), [stream](const Entry& entry) {
      return entry.free.pointer != nullptr && entry.free.stream == stream;
    });
  }

 private:
  enum class State : std::uint8_t { unused, waiting, held };
  struct Entry {
    Free free;
    State state = State::unused;
  };

  std::mutex mutex_;
  std::array<Entry, kMost> entries_{};  // mutex_
  std::atomic<std::size_t> count_{0};   // that wait
};

/// A place for the free of a block that may turn out to be of no use, for as long as this lives.
class PostponedPlace {
 public:
  explicit PostponedPlace(PostponedFrees& frees) noexcept : frees_(frees), place_(frees.hold()) {}
  ~PostponedPlace() {
    if (place_) frees_.drop(*place_);
  }
  PostponedPlace(const PostponedPlace&) = delete;
  PostponedPlace& operator=(const PostponedPlace&) = delete;

  [[nodiscard]] explicit operator bool() const noexcept { return place_.has_value(); }
  /// REQUIRES: there is a place.
  void put(const PostponedFrees::Free& free) noexcept {
    frees_.put(*place_, free);
    place_.reset();
  }

 private:
  PostponedFrees& frees_;
  std::optional<PostponedFrees::Place> place_;
};

}  // namespace forebay::pool
