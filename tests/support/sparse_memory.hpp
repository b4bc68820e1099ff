// Addresses for more than the machine has: pages that nobody touches cost nothing.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdio>

namespace forebay::test {

/// `bytes` of zeros, of which only what is touched becomes memory. Empty where not even addresses
/// are to be had.
class SparseMemory {
 public:
  explicit SparseMemory(std::size_t bytes) : bytes_(bytes) {
    void* const got = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED) {
      std::printf("SKIPPED: no room for %zu bytes of addresses\n", bytes);
    } else {
      data_ = static_cast<std::byte*>(got);
    }
  }
  ~SparseMemory() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
  }
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;

  [[nodiscard]] explicit operator bool() const noexcept { return data_ != nullptr; }
  template <typename T = std::byte>
  [[nodiscard]] T* at(std::size_t element = 0) const noexcept {
    return reinterpret_cast<T*>(data_) + element;
  }

 private:
  std::size_t bytes_;
  std::byte* data_ = nullptr;
};

}  // namespace forebay::test
