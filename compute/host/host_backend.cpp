#include "compute/host/host_backend.hpp"

#include <cblas.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "compute/convert.hpp"
#include "compute/host/host_executor.hpp"

// OpenBLAS keeps threads of its own; CBLAS itself has no call for their number.
extern "C" [[gnu::weak]] void openblas_set_num_threads(int count);

namespace forebay::compute {
namespace {

class HostBackend final : public Backend {
 public:
  explicit HostBackend(Device& device)
      : threads_(device.config().host_threads),
        blas_threads_(static_cast<int>(device.config().host_threads)) {
    executors_.push_back(std::make_unique<host::HostExecutor>(threads_, device.counters().kernels));
  }

  [[nodiscard]] Limits limits() const noexcept override { return {}; }
  [[nodiscard]] std::span<const std::unique_ptr<Executor>> executors() const noexcept override {
    return executors_;
  }

  void matmul(const MatmulArgs& args, const Stream& /*stream*/) override {
    constexpr std::int64_t kMost = std::numeric_limits<int>::max();
    if (std::max({args.m, args.n, args.k, args.a_stride, args.b_stride}) > kMost) {
      throw ShapeError("matmul on the host takes extents up to 2^31 - 1, not m " +
                       std::to_string(args.m) + ", n " + std::to_string(args.n) + ", k " +
                       std::to_string(args.k));
    }
    if (blas_threads_ != 0 && openblas_set_num_threads != nullptr) {
      openblas_set_num_threads(std::exchange(blas_threads_, 0));
    }
    const auto order = [](bool transposed) { return transposed ? CblasTrans : CblasNoTrans; };
    cblas_sgemm(CblasRowMajor, order(args.a_transposed), order(args.b_transposed),
                static_cast<int>(args.m), static_cast<int>(args.n), static_cast<int>(args.k), 1.0F,
                args.a, static_cast<int>(args.a_stride), args.b, static_cast<int>(args.b_stride),
                0.0F, args.c, static_cast<int>(args.n));
  }

  void upload_many(std::span<const Upload> uploads, const Stream& /*stream*/) override {
    for (const Upload& upload : uploads) convert(upload);
  }

  void download(const void* source, void* target, std::size_t bytes,
                const Stream& /*stream*/) override {
    std::memcpy(target, source, bytes);
  }

  void copy(const void* source, void* target, std::size_t bytes,
            const Stream& /*stream*/) override {
    std::memmove(target, source, bytes);
  }

  void run(const CustomKernel& kernel, std::span<void* const> arguments, unsigned blocks,
           const Stream& /*stream*/) override {
    kernel.host(arguments, blocks);
  }

 private:
  void convert(const Upload& upload) {
    constexpr std::size_t kItem = std::size_t{64} << 10;  // elements
    const auto* const source = static_cast<const std::byte*>(upload.source);
    auto* const target = static_cast<std::byte*>(upload.target);
    threads_.run((upload.count + kItem - 1) / kItem, [&](std::size_t item) {
      const std::size_t first = item * kItem;
      compute::convert(source + first * size_of(upload.source_type), upload.source_type,
                       target + first * size_of(upload.target_type), upload.target_type,
                       std::min(kItem, upload.count - first));
    });
  }

  host::Threads threads_;
  int blas_threads_;  // what the first product sets for the process; 0 for nothing
  std::vector<std::unique_ptr<Executor>> executors_;
};

}  // namespace

std::unique_ptr<Backend> make_host_backend(Device& device) {
  return std::make_unique<HostBackend>(device);
}

}  // namespace forebay::compute
