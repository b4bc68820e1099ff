#include "compute/cuda/matmul_runner.hpp"

#include <utility>

namespace forebay::cuda {

/// An operand at an aligned address: itself, or a copy that lives until the stream is done with it.
class MatmulRunner::Aligned {
 public:
  Aligned(CudaDevice& device, const Stream& stream, const float* data, std::size_t elements)
      : device_(device), stream_(stream), data_(const_cast<float*>(data)), bytes_(elements * 4) {
    if (reinterpret_cast<std::uintptr_t>(data) % kMatmulAlignment == 0) return;
    copy_ = pool::Pool(device.pool()).allocate(bytes_, stream.id(), {.tag = "compute.matmul"});
  }
  ~Aligned() { pool::Pool(device_.pool()).deallocate(copy_, stream_.id(), bytes_); }
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;

  [[nodiscard]] float* get() const noexcept {
    return copy_ == nullptr ? data_ : static_cast<float*>(copy_);
  }
  void read() const {
    if (copy_ != nullptr) copy(copy_, data_);
  }
  void write() const {
    if (copy_ != nullptr) copy(data_, copy_);
  }

 private:
  void copy(void* target, const void* source) const {
    check(device_.api(),
          device_.api().cuMemcpyDtoDAsync(reinterpret_cast<CUdeviceptr>(target),
                                          reinterpret_cast<CUdeviceptr>(source), bytes_,
                                          native(stream_)),
          "cuMemcpyDtoDAsync");
  }

  CudaDevice& device_;
  const Stream& stream_;
  float* data_;
  std::size_t bytes_;
  void* copy_ = nullptr;
};

namespace {

/// From the first element to the last one of a matrix as stored.
std::size_t span_of(std::int64_t rows, std::int64_t row_length, std::int64_t stride) {
  return static_cast<std::size_t>((rows - 1) * stride + row_length);
}

}  // namespace

MatmulRunner::MatmulRunner(CudaDevice& device, StreamScratch& scratch)
    : MatmulRunner(device, scratch, nullptr) {}

MatmulRunner::MatmulRunner(CudaDevice& device, StreamScratch& scratch,
                           std::shared_ptr<const driver::CublasLtApi> api)
    : device_(device),
      scratch_(scratch),
      api_(std::move(api)),
      plans_(device.config().matmul.max_plans) {}

MatmulRunner::~MatmulRunner() {
  plans_.clear();
  device_.counters().fusion.plans = 0;
  if (handle_ != nullptr && device_.enter()) api_->cublasLtDestroy(handle_);
}

void MatmulRunner::run(const compute::MatmulArgs& args, const Stream& stream) {
  device_.make_current();
  const MatmulShape shape = shape_of(args);
  const MatmulPlan& chosen = plan(shape);
  void* const workspace = chosen.workspace_bytes() == 0 ? nullptr : scratch_.workspace(stream);
  const Aligned a(device_, stream, args.a,
                  args.a_transposed ? span_of(args.k, args.m, shape.a_stride)
                                    : span_of(args.m, args.k, shape.a_stride));
  const Aligned b(device_, stream, args.b,
                  args.b_transposed ? span_of(args.n, args.k, shape.b_stride)
                                    : span_of(args.k, args.n, shape.b_stride));
  const Aligned c(device_, stream, args.c, span_of(args.m, args.n, args.n));
  a.read();
  b.read();
  chosen.run(handle_, a.get(), b.get(), c.get(), workspace, stream.native());
  c.write();
}

void MatmulRunner::open() {
  if (handle_ != nullptr) return;
  if (api_ == nullptr) api_ = driver::CublasLtApi::open(device_.api().version);
  check(*api_, api_->cublasLtCreate(&handle_), "cublasLtCreate");
}

const MatmulPlan& MatmulRunner::plan(const MatmulShape& shape) {
  if (const auto* const known = plans_.find(shape)) return **known;
  open();
  auto made =
      std::make_unique<MatmulPlan>(api_, handle_, shape, device_.config().matmul.workspace_bytes);
  const MatmulPlan& kept = *plans_.insert(shape, std::move(made));
  device_.counters().fusion.plans.store(plans_.size(), std::memory_order_relaxed);
  return kept;
}

}  // namespace forebay::cuda
