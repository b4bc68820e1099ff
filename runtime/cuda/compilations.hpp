// Compilations under way in this process, and its end.
#pragma once

#include <cstdint>

namespace forebay::cuda {

/// NVRTC makes objects with exit handlers while it opens and compiles, and those handlers run
/// before any that was registered earlier, so a process must not get as far as its exit handlers
/// while a compilation runs on another thread. The destructors of the ending thread's own objects
/// come before them: threads that caused compilations wait there (`wait_at_thread_end`). For exits
/// of other threads there is an exit handler of ours, made after the first compilation, so that it
/// runs before NVRTC's.
///
/// No wait is longer than kExitWaitMs. Where that is not enough, the process ends with its exit
/// code and with flushed files, but without further exit handlers, NVRTC's and others: a
/// compilation that hangs keeps nobody from leaving.
class Compilation {
 public:
  static constexpr int kExitWaitMs = 3000;

  /// Begins one, unless the process is ending.
  Compilation();
  ~Compilation();
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;
  /// Whether it began; nothing may be compiled otherwise.
  [[nodiscard]] bool began() const noexcept { return number_ != 0; }

  /// This thread will wait, at its end, for what is being compiled then; the main thread also keeps
  /// anything further from beginning. Cost: one thread-local store.
  static void wait_at_thread_end() noexcept;

 private:
  std::uint64_t number_ = 0;
};

}  // namespace forebay::cuda
