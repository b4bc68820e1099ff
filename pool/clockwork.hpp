// The protocol of points: when they are recorded, asked about and waited for.
#pragma once

#include <atomic>
#include <cstdint>

#include "pool/stream_state.hpp"

namespace forebay::pool {

/// A free carries the number of its stream's next point. To record that point, its number is first
/// taken (later frees carry the next one) and only then recorded: so it comes after the work in
/// front of every free that carries it. A number whose record failed is covered by the next one.
///
/// Thread safety: any thread. Every call about a stream is made under its time lock.
class Clockwork {
 public:
  explicit Clockwork(Timeline& timeline) : timeline_(timeline) {}

  /// Records the stream's next point, unless the stream is busy with another call, is capturing, or
  /// `at_most` points of it are under way already.
  bool try_record(StreamState& state, std::size_t at_most = StreamState::kMaxPoints);
  /// Asks which points have passed; records one first if frees would stay uncovered otherwise.
  /// Returns whether any more have.
  bool poll(StreamState& state);
  /// Once in so many frees: asks which points have passed and records the next one, unless the
  /// stream is busy with another call or is capturing. Returns whether any more have.
  bool tick(StreamState& state);
  /// Makes what `waiter` is given from now on start after `point` of `state`; false if that cannot
  /// be.
  bool await(StreamState& waiter, StreamState& state, Point point);
  /// The host waits for the oldest point that has not passed. False if there is none or it fails.
  bool synchronize_oldest(StreamState& state);
  /// The sequence number of that point, ~0 if there is none.
  [[nodiscard]] std::uint64_t oldest_sequence(StreamState& state);
  /// Records a last point whatever is under way. False if that fails.
  bool record_last(StreamState& state);
  /// Forgets all points of a stream that closes.
  void forget_all(StreamState& state);

  void report(TimelineStats& stats) const noexcept;

 private:
  bool record(StreamState& state);
  bool settle(StreamState& state);
  void advance(StreamState& state, std::size_t count);
  [[nodiscard]] bool ask(StreamState& state, Point point);
  [[nodiscard]] bool silent(StreamState& state) const;
  [[nodiscard]] static bool has_uncovered(StreamState& state);

  Timeline& timeline_;
  std::atomic<std::uint64_t> sequence_{1}, records_{0}, queries_{0}, waits_{0}, synchronizes_{0};
};

}  // namespace forebay::pool
