// Threads that do one job together with their caller.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace forebay::compute {

/// A team of `size` threads, of which the caller is the first. The others start at the first job,
/// sleep between jobs and are joined at the end. They take no signals. If the machine gives fewer
/// threads, the team is smaller from then on.
///
/// Thread safety: one caller at a time.
class WorkerTeam {
 public:
  explicit WorkerTeam(unsigned size) : size_(size == 0 ? 1 : size) {}
  ~WorkerTeam();
  WorkerTeam(const WorkerTeam&) = delete;
  WorkerTeam& operator=(const WorkerTeam&) = delete;

  [[nodiscard]] unsigned size() const noexcept { return size_; }
  /// Calls `job(member)` once for each member, 0 being the caller, and waits for all of them.
  /// Throws the first exception that one of them threw, after all have ended.
  void run(const std::function<void(unsigned member)>& job);

 private:
  void start();
  void work(unsigned member);
  void perform(const std::function<void(unsigned member)>& job, unsigned member) noexcept;

  unsigned size_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  const std::function<void(unsigned)>* job_ = nullptr;  // mutex_
  std::uint64_t generation_ = 0;                        // mutex_; the number of the job
  unsigned busy_ = 0;                                   // mutex_; workers that have not ended it
  bool stop_ = false;                                   // mutex_
  std::exception_ptr failure_;                          // mutex_
};

}  // namespace forebay::compute
