// cuMemAllocAsync and cuMemAlloc as allocators to compare with.
#include "tools/forebay/allocator.hpp"

#ifdef FOREBAY_HAVE_CUDA
#include <cuda.h>

#include "runtime/cuda/cuda_device.hpp"

namespace forebay::tools {
namespace {

/// Waits for the device at each free, as the driver does it.
class Synchronous : public Allocator {
 public:
  explicit Synchronous(cuda::CudaDevice& device) : device_(device) {}
  [[nodiscard]] const char* name() const noexcept override { return "cuMemAlloc"; }
  void enter_thread() override { device_.make_current(); }
  [[nodiscard]] void* allocate(std::size_t bytes, unsigned) override {
    CUdeviceptr address = 0;
    return checked(device_.api().cuMemAlloc(&address, bytes), "cuMemAlloc", &address);
  }
  void free(void* block, std::size_t, unsigned) noexcept override {
    if (block != nullptr) device_.api().cuMemFree(reinterpret_cast<CUdeviceptr>(block));
  }
  void trim() override { device_.synchronize(); }

 protected:
  void* checked(CUresult result, const char* call, const CUdeviceptr* address) const {
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
      throw OutOfMemory(std::string(call) + ": the device is out of memory", "");
    }
    driver::check(device_.api(), result, call);
    return reinterpret_cast<void*>(*address);
  }

  cuda::CudaDevice& device_;
};

/// The driver's pool, in stream order.
class Asynchronous final : public Synchronous {
 public:
  Asynchronous(cuda::CudaDevice& device, unsigned streams) : Synchronous(device) {
    for (unsigned i = 0; i < streams; ++i) streams_.push_back(device.create_stream());
  }
  [[nodiscard]] const char* name() const noexcept override { return "cuMemAllocAsync"; }
  [[nodiscard]] void* allocate(std::size_t bytes, unsigned stream) override {
    CUdeviceptr address = 0;
    return checked(device_.api().cuMemAllocAsync(&address, bytes, native(stream)),
                   "cuMemAllocAsync", &address);
  }
  void free(void* block, std::size_t, unsigned stream) noexcept override {
    if (block == nullptr) return;
    device_.api().cuMemFreeAsync(reinterpret_cast<CUdeviceptr>(block), native(stream));
  }

 private:
  [[nodiscard]] CUstream native(unsigned stream) const noexcept {
    return static_cast<CUstream>(streams_[stream].native());
  }
  std::vector<Stream> streams_;
};

}  // namespace

std::vector<std::unique_ptr<Allocator>> driver_allocators(Device& device, unsigned streams) {
  std::vector<std::unique_ptr<Allocator>> allocators;
  if (auto* cuda = dynamic_cast<cuda::CudaDevice*>(&device)) {
    allocators.push_back(std::make_unique<Asynchronous>(*cuda, streams));
    allocators.push_back(std::make_unique<Synchronous>(*cuda));
  }
  return allocators;
}

}  // namespace forebay::tools

#else

namespace forebay::tools {

std::vector<std::unique_ptr<Allocator>> driver_allocators(Device&, unsigned) { return {}; }

}  // namespace forebay::tools

#endif
