#include "tools/forebay/touch_cuda.hpp"

#include <algorithm>
#include <utility>

#include "runtime/cuda/kernel_cache.hpp"

namespace forebay::tools {
namespace {

constexpr unsigned kThreads = 256;
constexpr std::uint64_t kMaxBlocks = 2048;

constexpr std::string_view kStamp = R"(
extern "C" __global__ void forebay_stamp(unsigned char* block, unsigned long long bytes,
                                         unsigned number) {
  const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x * 256;
  for (unsigned long long at = (blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x) * 256;
       at < bytes; at += step) {
    for (int i = 0; i < 4 && at + i < bytes; ++i) block[at + i] = number >> 8 * i;
  }
})";

constexpr std::string_view kCheck = R"(
extern "C" __global__ void forebay_check(const unsigned char* block, unsigned long long bytes,
                                         unsigned number, volatile unsigned* lost) {
  const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x * 256;
  for (unsigned long long at = (blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x) * 256;
       at < bytes; at += step) {
    for (int i = 0; i < 4 && at + i < bytes; ++i) {
      if (block[at + i] != (unsigned char)(number >> 8 * i)) *lost = number + 1;
    }
  }
})";

}  // namespace

CudaTouch::CudaTouch(Device& device, std::vector<Stream> streams)
    : device_(dynamic_cast<cuda::CudaDevice&>(device)),
      api_(device_.api()),
      streams_(std::move(streams)) {
  device_.make_current();
  stamp_ = device_.kernels().get(kStamp, "forebay_stamp");
  check_ = device_.kernels().get(kCheck, "forebay_check");
  driver::check(api_, api_.cuEventCreate(&event_, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  try {
    void* pinned =
        device_.pinned_pool().allocate(sizeof(std::uint32_t), device_.default_stream().id());
    lost_ = static_cast<volatile std::uint32_t*>(pinned);
  } catch (...) {
    static_cast<void>(api_.cuEventDestroy(event_));
    throw;
  }
  *lost_ = 0;
}

CudaTouch::~CudaTouch() {
  if (!device_.enter()) return;
  // Kernels that are still running write there.
  static_cast<void>(api_.cuCtxSynchronize());
  device_.pinned_pool().deallocate(const_cast<std::uint32_t*>(lost_),
                                   device_.default_stream().id());
  static_cast<void>(api_.cuEventDestroy(event_));
}

void CudaTouch::launch(CUfunction kernel, CUstream stream, std::uint64_t bytes, void** arguments) {
  const std::uint64_t cells = (bytes + pool::kMinAlignment - 1) / pool::kMinAlignment;
  const std::uint64_t blocks = std::min((cells + kThreads - 1) / kThreads, kMaxBlocks);
  driver::check(api_,
                api_.cuLaunchKernel(kernel, static_cast<unsigned>(blocks), 1, 1, kThreads, 1, 1, 0,
                                    stream, arguments, nullptr),
                "cuLaunchKernel");
}

void CudaTouch::stamp(void* block, std::uint64_t bytes, std::uint32_t number,
                      std::uint32_t stream) {
  if (bytes == 0) return;
  void* arguments[] = {&block, &bytes, &number};
  launch(stamp_, native(stream), bytes, arguments);
}

void CudaTouch::check(void* block, std::uint64_t bytes, std::uint32_t number, std::uint32_t stream,
                      std::uint32_t writer) {
  if (bytes == 0) return;
  if (stream != writer) {
    driver::check(api_, api_.cuEventRecord(event_, native(writer)), "cuEventRecord");
    driver::check(api_, api_.cuStreamWaitEvent(native(stream), event_, 0), "cuStreamWaitEvent");
  }
  auto* lost = const_cast<std::uint32_t*>(lost_);
  void* arguments[] = {&block, &bytes, &number, &lost};
  launch(check_, native(stream), bytes, arguments);
}

std::optional<std::uint32_t> CudaTouch::finish() {
  device_.synchronize();
  if (*lost_ == 0) return std::nullopt;
  return *lost_ - 1;
}

}  // namespace forebay::tools
