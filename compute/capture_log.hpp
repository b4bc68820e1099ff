// What one capture touches: the storage that its graph needs, and where it writes.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_set>
#include <vector>

#include "compute/node.hpp"
#include "compute/pending.hpp"

namespace forebay::compute {

/// Nothing is computed while a capture lasts. What somebody holds is storage before it begins, so
/// no node from before it changes inside. That storage is kept alive for the graph; what the
/// capture itself allocates lies in its arena.
///
/// Thread safety: none; the engine's mutex guards it.
class CaptureLog {
 public:
  /// `number` is that of the capture, as storage made inside carries it.
  explicit CaptureLog(std::uint64_t number) : number_(number) {}
  CaptureLog(const CaptureLog&) = delete;
  CaptureLog& operator=(const CaptureLog&) = delete;

  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  /// The graph uses the storage.
  void keep(const std::shared_ptr<Storage>& storage);
  /// The graph writes there.
  void wrote(const Extent& extent) { written_.push_back(extent); }
  [[nodiscard]] std::vector<Extent> take_written();
  /// Everything that `keep` was given and that lies outside of the arena, each once.
  [[nodiscard]] std::vector<std::shared_ptr<Storage>> take_kept();

 private:
  const std::uint64_t number_;
  std::unordered_set<std::shared_ptr<Storage>> kept_;
  std::vector<Extent> written_;
};

}  // namespace forebay::compute
