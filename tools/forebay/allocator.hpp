// What `forebay bench alloc` compares: anything that allocates on streams.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "forebay/pool/pool.hpp"
#include "forebay/runtime/device.hpp"

namespace forebay::tools {

/// An allocator with a number of streams, which are called 0, 1, 2 …
/// Thread safety: any thread, after `enter_thread`.
class Allocator {
 public:
  Allocator() = default;
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;
  virtual ~Allocator() = default;

  [[nodiscard]] virtual const char* name() const noexcept = 0;
  /// Called by each thread before its first allocation; twice is fine.
  virtual void enter_thread() {}
  /// Throws OutOfMemory, and DriverError for any other failure.
  [[nodiscard]] virtual void* allocate(std::size_t bytes, unsigned stream) = 0;
  /// Null does nothing.
  virtual void free(void* block, std::size_t bytes, unsigned stream) noexcept = 0;
  /// Gives back what it holds and nobody uses.
  virtual void trim() {}
};

/// The pool of a device, on `streams` new streams of it.
class PoolAllocator final : public Allocator {
 public:
  PoolAllocator(const char* name, std::shared_ptr<Device> device, unsigned streams);
  [[nodiscard]] const char* name() const noexcept override { return name_; }
  [[nodiscard]] void* allocate(std::size_t bytes, unsigned stream) override {
    return pool_.allocate(bytes, ids_[stream]);
  }
  void free(void* block, std::size_t bytes, unsigned stream) noexcept override {
    pool_.deallocate(block, ids_[stream], bytes);
  }
  void trim() override { pool_.trim(); }

 private:
  const char* name_;
  std::shared_ptr<Device> device_;
  pool::Pool pool_;
  std::vector<Stream> streams_;
  std::vector<pool::StreamId> ids_;
};

/// The driver's own allocators on a CUDA device; none for any other device.
[[nodiscard]] std::vector<std::unique_ptr<Allocator>> driver_allocators(Device& device,
                                                                        unsigned streams);

}  // namespace forebay::tools
