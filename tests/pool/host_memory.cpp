#include "tests/pool/host_memory.hpp"

#include <cstdlib>
#include <new>
#include <utility>

// GCC takes what is freed here for memory of another operator new.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

namespace forebay::pool::test {
namespace {

thread_local ScarceMemory* scarce = nullptr;

void* counted_allocation(std::size_t bytes) noexcept {
  host_allocations.fetch_add(1, std::memory_order_relaxed);
  return ScarceMemory::refuses() ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
}

void* allocation_or_throw(std::size_t bytes) {
  if (void* memory = counted_allocation(bytes)) return memory;
  throw std::bad_alloc();
}

void* aligned_or_throw(std::size_t bytes, std::align_val_t alignment) {
  host_allocations.fetch_add(1, std::memory_order_relaxed);
  const auto unit = static_cast<std::size_t>(alignment);
  void* memory = ScarceMemory::refuses()
                     ? nullptr
                     : std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

std::atomic<std::uint64_t> host_allocations{0};

ScarceMemory::Window::Window(ScarceMemory* memory) noexcept { scarce = memory; }
ScarceMemory::Window::~Window() { scarce = nullptr; }

ScarceMemory::Plenty::Plenty() noexcept : suspended_(std::exchange(scarce, nullptr)) {}
ScarceMemory::Plenty::~Plenty() { scarce = suspended_; }

bool ScarceMemory::refuses() noexcept {
  if (scarce == nullptr) return false;
  const std::uint64_t number = ++scarce->allocations_;
  return number == scarce->nth_ || (scarce->for_ever_ && number > scarce->nth_);
}

}  // namespace forebay::pool::test

using forebay::pool::test::aligned_or_throw;
using forebay::pool::test::allocation_or_throw;
using forebay::pool::test::counted_allocation;

void* operator new(std::size_t bytes) { return allocation_or_throw(bytes); }
void* operator new[](std::size_t bytes) { return allocation_or_throw(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return counted_allocation(bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return counted_allocation(bytes);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return aligned_or_throw(bytes, alignment);
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return aligned_or_throw(bytes, alignment);
}
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
