#include "compute/capture_log.hpp"

#include <utility>

namespace forebay::compute {

void CaptureLog::keep(const std::shared_ptr<Storage>& storage) {
  if (storage->capture != number_) kept_.insert(storage);
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
