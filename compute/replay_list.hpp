// Graphs for backends that have none: the calls of a capture, kept and made again.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "forebay/compute/backend.hpp"

namespace forebay::compute {

/// Calls of one backend with their arguments, which it outlives.
class ReplayList final : public Recording {
 public:
  using Call = std::function<void(const Stream&)>;
  void add(Call call) { calls_.push_back(std::move(call)); }
  void swap(ReplayList& other) noexcept { calls_.swap(other.calls_); }

  /// Stops at the first call that throws, and throws the same.
  void replay(const Stream& stream) override;
  [[nodiscard]] std::size_t size() const noexcept override { return calls_.size(); }

 private:
  std::vector<Call> calls_;
};

/// Stands in for `inner` during a capture: keeps what it is asked instead of doing it. Programs and
/// parameters are copied, since what they were given in is gone by a replay. Throws CaptureError
/// for uploads and downloads, and for kernels that do not say how large their parameters are.
class RecordingBackend final : public Backend {
 public:
  explicit RecordingBackend(Backend& inner);

  [[nodiscard]] Limits limits() const noexcept override { return inner_.limits(); }
  [[nodiscard]] std::span<const std::unique_ptr<Executor>> executors() const noexcept override {
    return executors_;
  }
  void matmul(const MatmulArgs& args, const Stream& stream) override;
  void upload_many(std::span<const Upload> uploads, const Stream& stream) override;
  void download(const void* source, void* target, std::size_t bytes, const Stream& stream) override;
  void copy(const void* source, void* target, std::size_t bytes, const Stream& stream) override;
  void run(const CustomKernel& kernel, std::span<void* const> arguments, unsigned blocks,
           const Stream& stream) override;

  void begin_capture(const Stream& stream) override;
  /// `earlier` is a ReplayList.
  [[nodiscard]] std::unique_ptr<Recording> end_capture(const Stream& stream,
                                                       Recording* earlier) override;
  void abandon_capture(const Stream& stream) noexcept override;

 private:
  class RecordingExecutor;

  Backend& inner_;
  ReplayList calls_;
  std::vector<std::unique_ptr<Executor>> executors_;
};

}  // namespace forebay::compute
