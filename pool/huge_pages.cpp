#include "pool/huge_pages.hpp"

#include <algorithm>
#include <memory>
#include <new>

#include "pool/units.hpp"

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace forebay::pool {
namespace {

constexpr std::size_t kFirst = 64 * kKiB, kHuge = 2 * kMiB;

// Advice only: without huge pages everything works alike, but for the time that it takes.
void want_huge_pages(void* memory, std::size_t bytes) noexcept {
#ifdef __linux__
  madvise(memory, bytes, MADV_HUGEPAGE);
#else
  static_cast<void>(memory), static_cast<void>(bytes);
#endif
}

}  // namespace

HugePages::~HugePages() {
  for (const Block& block : blocks_) {
    ::operator delete(block.memory, block.alignment);
  }
}

void* HugePages::do_allocate(std::size_t bytes, std::size_t alignment) {
  void* place = next_;
  if (next_ == nullptr || std::align(alignment, bytes, place, left_) == nullptr) {
    const std::size_t size = std::max(std::clamp(bytes_ / 4, kFirst, kHuge), bytes);
    const std::align_val_t at{size < kHuge ? std::max(alignment, kFirst / 16) : kHuge};
    blocks_.reserve(blocks_.size() + 1);
    place = ::operator new(size, at);
    blocks_.push_back({place, at});
    bytes_ += size;
    left_ = size;
    if (size >= kHuge) want_huge_pages(place, size);
  }
  next_ = static_cast<std::byte*>(place) + bytes;
  left_ -= bytes;
  return place;
}

}  // namespace forebay::pool
