// Kernels that are made in the background, and the queue of those that wait for it.
#pragma once

#include <cuda.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>

#include "forebay/runtime/counters.hpp"

namespace forebay::cuda {

/// A kernel that its users do without until it is ready.
/// Thread safety: any thread.
class BackgroundKernel {
 public:
  /// idle → queued → compiling → ready or failed, for good. Whoever is dropped from the queue is
  /// idle again, until its next use or a call of `settle`.
  enum class State : std::uint8_t { idle, queued, compiling, ready, failed };

  /// `make` compiles and loads; it runs on another thread, at most once if it throws nothing.
  explicit BackgroundKernel(std::function<CUfunction()> make) : make_(std::move(make)) {}

  [[nodiscard]] State state() const noexcept { return state_.load(std::memory_order_acquire); }
  /// The kernel, null until it is ready. Cost: one load.
  [[nodiscard]] CUfunction function() const noexcept {
    return state() == State::ready ? function_ : nullptr;
  }

 private:
  friend class CompileQueue;

  std::atomic<State> state_{State::idle};
  CUfunction function_ = nullptr;  // written before state_ becomes ready
  std::function<CUfunction()> make_;
  std::list<std::shared_ptr<BackgroundKernel>>::iterator place_;  // while queued; the queue's mutex
  bool resting_ = false;  // listed as such; the queue's mutex
};

/// Kernels wait here for one of a few threads, which exist only while there is something to do.
///
/// The kernel that was used last comes first: what runs now gains most, and what was used once, at
/// the start of a program, ends at the bottom. A full queue drops what was used longest ago; its
/// next use brings it back, or a call of `settle`. So neither the queue nor a wait for it grows
/// with history: what is not queued is known as long as somebody holds it.
///
/// Nobody waits for a compilation, but those who call `settle`. One that hangs keeps its thread,
/// and its kernel is never ready.
///
/// Thread safety: any thread. What runs in a thread outlives the queue where it has to.
class CompileQueue {
 public:
  struct Options {
    unsigned threads = 1;
    std::size_t bound = 64;
  };
  /// `counters` are told of what is queued, dropped and failed until `stop`.
  CompileQueue(const Options& options, KernelCounters& counters);
  ~CompileQueue();
  CompileQueue(const CompileQueue&) = delete;
  CompileQueue& operator=(const CompileQueue&) = delete;

  /// Puts the kernel in front of all others unless it is being made or was. Never throws: without
  /// memory or threads, the kernel stays idle. Cost: one lock.
  void want(const std::shared_ptr<BackgroundKernel>& kernel) noexcept;
  /// The kernel waits for somebody to want it, or for `settle`. REQUIRES: nobody wanted it yet.
  void know(const std::shared_ptr<BackgroundKernel>& kernel) noexcept;
  /// Queues what is known or was dropped, and waits until nothing is queued or being made; false if
  /// that took longer than `limit`.
  bool settle(std::chrono::milliseconds limit);
  /// Drops what is queued, and waits for what is being made, no longer than `limit`. The queue
  /// takes nothing after. Twice is fine. Does nothing in a forked child.
  void stop(std::chrono::milliseconds limit) noexcept;

 private:
  struct Shared;
  static void work(const std::shared_ptr<Shared>& shared) noexcept;
  static void make(Shared& shared, BackgroundKernel& kernel) noexcept;
  static void start_thread(const std::shared_ptr<Shared>& shared) noexcept;

  const std::uint32_t generation_;  // of the process that made it
  std::shared_ptr<Shared> shared_;
};

}  // namespace forebay::cuda
