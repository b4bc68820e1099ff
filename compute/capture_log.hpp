// What one capture touches: the storage that its graph needs, and the nodes that it changed.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_set>
#include <vector>

#include "compute/node.hpp"
#include "compute/pending.hpp"

namespace forebay::compute {

/// Nothing is computed while a capture lasts. What somebody holds and may write to is storage
/// before it begins; another node from before it that becomes storage inside has no value there
/// outside of the graph. It is noted what it was, and it becomes that again when the capture ends:
/// the graph computes it anew in each replay, and so does everybody else. Storage from before the
/// capture is kept alive for the graph; what the capture itself allocates lies in its arena.
///
/// Thread safety: none; the engine's mutex guards it.
class CaptureLog {
 public:
  /// `number` is that of the capture, as nodes and storage made inside carry it.
  explicit CaptureLog(std::uint64_t number) : number_(number) {}
  CaptureLog(const CaptureLog&) = delete;
  CaptureLog& operator=(const CaptureLog&) = delete;
  /// Nodes are what they were.
  ~CaptureLog();

  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  /// The graph uses the storage.
  void keep(const std::shared_ptr<Storage>& storage);
  /// To be called before `node` becomes storage, or other storage. Whether it will be again what it
  /// was.
  bool note(Node& node);
  /// The graph writes there.
  void wrote(const Extent& extent) { written_.push_back(extent); }
  [[nodiscard]] std::vector<Extent> take_written();
  /// Everything that `keep` was given and that lies outside of the arena, each once.
  [[nodiscard]] std::vector<std::shared_ptr<Storage>> take_kept();

 private:
  struct Was {
    NodeRef node;
    NodeKind kind;
    bool contiguous;
    Dims strides;
    std::int64_t offset;
    std::shared_ptr<Storage> storage;
    std::array<NodeRef, 3> operands;
  };

  const std::uint64_t number_;
  std::unordered_set<std::shared_ptr<Storage>> kept_;
  std::vector<Was> changed_;
  std::vector<Extent> written_;
};

}  // namespace forebay::compute
