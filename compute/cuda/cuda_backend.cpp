#include "compute/cuda/cuda_backend.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "compute/cuda/cuda_graph.hpp"
#include "compute/cuda/custom_kernels.hpp"
#include "compute/cuda/executors.hpp"
#include "compute/cuda/kernel_arguments.hpp"
#include "compute/cuda/matmul_runner.hpp"
#include "compute/cuda/stream_scratch.hpp"
#include "compute/cuda/transfer_ring.hpp"
#include "compute/cuda/upload_stream.hpp"
#include "runtime/cuda/cuda_device.hpp"
#include "runtime/cuda/kernel_cache.hpp"

namespace forebay::cuda {
namespace {

using compute::CustomKernel;

CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

constexpr std::size_t kMailboxes = 1024;
/// Of the pool's capacity, that it holds from the beginning; and the least that is used of it.
constexpr std::size_t kWarmUpShare = 128;
constexpr std::size_t kWarmUpBytes = std::size_t{64} << 10;

class CudaBackend final : public compute::Backend {
 public:
  explicit CudaBackend(CudaDevice& device)
      : device_(device),
        scratch_(device),
        executors_(make_executors(device, scratch_)),
        matmul_(device, scratch_),
        ring_(device),
        uploads_(device),
        custom_(device) {}

  ~CudaBackend() override {
    pool::Pool(device_.pinned_pool()).deallocate(mailboxes_, device_.default_stream().id());
  }

  [[nodiscard]] compute::Limits limits() const noexcept override { return kLimits; }
  [[nodiscard]] std::span<const std::unique_ptr<compute::Executor>> executors()
      const noexcept override {
    return executors_;
  }

  [[nodiscard]] std::span<std::uint64_t> mailboxes() override {
    if (mailboxes_ == nullptr) {
      pool::Pool memory = device_.pinned_pool();
      mailboxes_ = memory.allocate(kMailboxes * sizeof(std::uint64_t),
                                   device_.default_stream().id(), {.tag = "compute.mailboxes"});
      std::memset(mailboxes_, 0, kMailboxes * sizeof(std::uint64_t));
    }
    return {static_cast<std::uint64_t*>(mailboxes_), kMailboxes};
  }

  void warm_up() override {
    ring_.prepare();
    ring_.start_team();
    if (warm_) return;
    // A pool's first blocks take longer than others while it grows, and so does the first copy of
    // each slot of the ring, whichever thread fills it.
    pool::Pool memory = device_.pool();
    const std::size_t share =
        std::min(memory.config().capacity / kWarmUpShare, device_.free_bytes() / 2);
    const std::size_t bytes = std::max(share, kWarmUpBytes);
    const UploadConfig& ring = device_.config().upload;
    const Stream stream = uploads_.choose(bytes, device_.default_stream());
    const std::vector<std::byte> zeros(std::min(bytes, ring.chunk_bytes));
    void* const block = memory.allocate(bytes, stream.id(), {.tag = "compute.warm_up"});
    try {
      const Upload piece{zeros.data(), DType::u8, block, DType::u8, zeros.size()};
      upload_many(
          std::vector<Upload>(2 * std::max<std::size_t>(ring.ring_bytes / zeros.size(), 1), piece),
          stream);
      for (std::size_t i = 0; i < ring.ring_bytes / zeros.size(); i += 4) {
        ring_.upload({&piece, 1}, stream);  // the slots of small ones
      }
    } catch (...) {
      memory.deallocate(block, stream.id());
      throw;
    }
    // As with a tensor.
    join(device_.default_stream(), stream);
    memory.deallocate(block, device_.default_stream().id());
    warm_ = true;
  }
  bool prepare(std::chrono::milliseconds limit) override { return device_.kernels().settle(limit); }

  void matmul(const compute::MatmulArgs& args, const Stream& stream) override {
    matmul_.run(args, stream);
  }

  void upload_many(std::span<const Upload> uploads, const Stream& stream) override {
    ring_.upload(uploads, stream);
  }
  [[nodiscard]] Stream upload_stream(std::size_t bytes, const Stream& stream) override {
    return uploads_.choose(bytes, stream);
  }
  void join(const Stream& stream, const Stream& other) noexcept override {
    uploads_.join(stream, other);
  }
  void download(const void* source, void* target, std::size_t bytes,
                const Stream& stream) override {
    ring_.download(source, target, bytes, stream);
  }

  void copy(const void* source, void* target, std::size_t bytes, const Stream& stream) override {
    if (bytes == 0) return;
    device_.make_current();
    check(device_.api(),
          device_.api().cuMemcpyDtoDAsync(address(target), address(source), bytes, native(stream)),
          "cuMemcpyDtoDAsync");
  }

  void run(const CustomKernel& kernel, std::span<void* const> arguments, unsigned blocks,
           const Stream& stream) override {
    if (blocks == 0) return;
    device_.make_current();
    const CUresult result =
        device_.api().cuLaunchKernel(custom_.function(kernel), blocks, 1, 1, kernel.block, 1, 1, 0,
                                     native(stream), const_cast<void**>(arguments.data()), nullptr);
    if (result != CUDA_SUCCESS) {
      const std::string call = std::string("launching ") + kernel.name;
      throw_driver_error(device_.api(), result, call.c_str());
    }
    count(device_.counters().kernels.compiled_launches);
  }

  [[nodiscard]] bool prepare_capture(const Stream& stream) override {
    (void)scratch_.reduction(stream);
    return true;
  }
  void begin_capture(const Stream& stream) override { cuda::begin_capture(device_, stream); }
  [[nodiscard]] std::unique_ptr<compute::Recording> end_capture(
      const Stream& stream, compute::Recording* earlier) override {
    return cuda::end_capture(device_, stream, dynamic_cast<CudaGraph*>(earlier),
                             scratch_.share(stream));
  }
  void abandon_capture(const Stream& stream) noexcept override {
    cuda::abandon_capture(device_, stream);
  }

 private:
  CudaDevice& device_;
  StreamScratch scratch_;
  std::vector<std::unique_ptr<compute::Executor>> executors_;
  MatmulRunner matmul_;
  TransferRing ring_;
  UploadStream uploads_;
  CustomKernels custom_;
  void* mailboxes_ = nullptr;  // pinned
  bool warm_ = false;
};

}  // namespace
}  // namespace forebay::cuda

namespace forebay::compute {

std::unique_ptr<Backend> make_cuda_backend(Device& device) {
  return std::make_unique<cuda::CudaBackend>(dynamic_cast<cuda::CudaDevice&>(device));
}

}  // namespace forebay::compute
