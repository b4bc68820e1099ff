#include "compute/cuda/stream_scratch.hpp"

#include <algorithm>

namespace forebay::cuda {
namespace {

constexpr std::size_t kPartialBytes = std::size_t{kSplitPartials} * kMostPartial;
constexpr std::size_t kTicketBytes = std::size_t{kSplitBlocks} * 4;

}  // namespace

StreamScratch::~StreamScratch() {
  for (const Entry& entry : entries_) give_back(entry);
}

ReduceScratch StreamScratch::reduction(const Stream& stream) {
  Entry& mine = entry(stream);
  if (mine.reduction == nullptr) {
    void* const memory = allocate(kPartialBytes + kTicketBytes, stream);
    const driver::CudaApi& api = device_.api();
    const CUresult result =
        api.cuMemsetD32Async(reinterpret_cast<CUdeviceptr>(memory) + kPartialBytes, 0, kSplitBlocks,
                             static_cast<CUstream>(stream.native()));
    if (result != CUDA_SUCCESS) {
      pool::Pool(device_.pool()).deallocate(memory, stream.id());
      throw_driver_error(api, result, "cuMemsetD32Async");
    }
    mine.reduction = memory;
  }
  return {mine.reduction, static_cast<std::byte*>(mine.reduction) + kPartialBytes};
}

void* StreamScratch::workspace(const Stream& stream) {
  Entry& mine = entry(stream);
  if (mine.workspace == nullptr) {
    mine.workspace = allocate(device_.config().matmul.workspace_bytes, stream);
  }
  return mine.workspace;
}

StreamScratch::Entry& StreamScratch::entry(const Stream& stream) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.stream.id() == stream.id();
  });
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
    return entries_.front();
  }
  if (entries_.size() == kStreams) {
    give_back(entries_.back());
    entries_.pop_back();
  }
  return entries_.emplace_front(Entry{stream});
}

void StreamScratch::give_back(const Entry& entry) noexcept {
  pool::Pool memory = device_.pool();
  memory.deallocate(entry.reduction, entry.stream.id());
  memory.deallocate(entry.workspace, entry.stream.id());
}

void* StreamScratch::allocate(std::size_t bytes, const Stream& stream) {
  return pool::Pool(device_.pool()).allocate(bytes, stream.id(), {.tag = "compute.scratch"});
}

}  // namespace forebay::cuda
