// Memory for many small records that are read at random: few pages, so that the processor's tables
// of addresses hold them all.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <new>
#include <vector>

namespace forebay::pool {

/// Hands out memory piece after piece from blocks of a quarter of what there is, from 64 KiB to
/// 2 MiB, and asks for huge pages under those of 2 MiB. What is deallocated is not used again;
/// everything goes when the resource does, so it suits records that stay. Not thread-safe.
class HugePages final : public std::pmr::memory_resource {
 public:
  HugePages() = default;
  ~HugePages() override;
  HugePages(const HugePages&) = delete;
  HugePages& operator=(const HugePages&) = delete;

  /// Bytes of all blocks.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void*, std::size_t, std::size_t) noexcept override {}
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }

  struct Block {
    void* memory;
    std::align_val_t alignment;
  };
  std::vector<Block> blocks_;
  std::byte* next_ = nullptr;
  std::size_t left_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace forebay::pool
