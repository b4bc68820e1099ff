#include "compute/cuda/stream_scratch.hpp"

#include <algorithm>
#include <utility>

#include "compute/cuda/reduce_plan.hpp"

namespace forebay::cuda {
namespace {

constexpr std::size_t kPartialBytes = std::size_t{kSplitPartials} * kMostPartial;

}  // namespace

void* StreamScratch::reduction(const Stream& stream) {
  Entry& mine = entry(stream);
  if (mine.reduction == nullptr) {
    std::shared_ptr<void> memory = allocate(kPartialBytes, stream);
    const driver::CudaApi& api = device_.api();
    check(api,
          api.cuMemsetD32Async(reinterpret_cast<CUdeviceptr>(memory.get()), 0, kPartialBytes / 4,
                               native(stream)),
          "cuMemsetD32Async");
    mine.reduction = std::move(memory);
  }
  return mine.reduction.get();
}

void* StreamScratch::workspace(const Stream& stream) {
  Entry& mine = entry(stream);
  if (mine.workspace == nullptr) {
    mine.workspace = allocate(device_.config().matmul.workspace_bytes, stream);
  }
  return mine.workspace.get();
}

std::shared_ptr<void> StreamScratch::share(const Stream& stream) {
  return std::make_shared<Entry>(entry(stream));
}

StreamScratch::Entry& StreamScratch::entry(const Stream& stream) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.stream.id() == stream.id();
  });
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
    return entries_.front();
  }
  if (entries_.size() == kStreams) entries_.pop_back();
  return entries_.emplace_front(Entry{stream, nullptr, nullptr});
}

std::shared_ptr<void> StreamScratch::allocate(std::size_t bytes, const Stream& stream) {
  pool::Pool pool = device_.pool();
  void* const memory = pool.allocate(bytes, stream.id(), {.tag = "compute.scratch"});
  return {memory, [pool, id = stream.id()](void* block) mutable { pool.deallocate(block, id); }};
}

}  // namespace forebay::cuda
