#include "compute/capture_log.hpp"

#include <utility>

namespace forebay::compute {

CaptureLog::~CaptureLog() {
  // The latest first: a node may have changed twice.
  while (!changed_.empty()) {
    Was was = std::move(changed_.back());
    changed_.pop_back();
    Node& node = *was.node;
    node.kind = was.kind;
    node.contiguous = was.contiguous;
    node.strides = was.strides;
    node.offset = was.offset;
    node.storage = std::move(was.storage);
    node.operands = std::move(was.operands);
  }
}

void CaptureLog::keep(const std::shared_ptr<Storage>& storage) {
  if (storage->capture != number_) kept_.insert(storage);
}

bool CaptureLog::note(Node& node) {
  if (node.capture == number_) return false;
  changed_.push_back({Node::share(node), node.kind, node.contiguous, node.strides, node.offset,
                      node.storage, std::move(node.operands)});
  return true;
}

std::vector<Extent> CaptureLog::take_written() {
  std::vector<Extent> written = std::exchange(written_, {});
  merge(written);
  return written;
}

std::vector<std::shared_ptr<Storage>> CaptureLog::take_kept() {
  const std::unordered_set<std::shared_ptr<Storage>> kept = std::exchange(kept_, {});
  return {kept.begin(), kept.end()};
}

}  // namespace forebay::compute
