// A backend that passes everything on and counts what goes through: how many launches a thing
// costs.
#pragma once

#include <memory>
#include <utility>

#include "forebay/compute/backend.hpp"
#include "forebay/runtime/runtime.hpp"

namespace forebay::testing {

struct BackendCalls {
  std::uint64_t products = 0, uploads = 0, downloads = 0, copies = 0, kernels = 0;
  [[nodiscard]] std::uint64_t launches() const { return products + copies + kernels; }
};

class CountingBackend final : public compute::Backend {
 public:
  CountingBackend(std::unique_ptr<Backend> inner, BackendCalls& calls)
      : inner_(std::move(inner)), calls_(calls) {}

  [[nodiscard]] compute::Limits limits() const noexcept override { return inner_->limits(); }
  [[nodiscard]] std::span<const std::unique_ptr<compute::Executor>> executors()
      const noexcept override {
    return inner_->executors();
  }
  void matmul(const compute::MatmulArgs& args, const Stream& stream) override {
    ++calls_.products;
    inner_->matmul(args, stream);
  }
  void upload_many(std::span<const Upload> uploads, const Stream& stream) override {
    calls_.uploads += uploads.size();
    inner_->upload_many(uploads, stream);
  }
  void download(const void* source, void* target, std::size_t bytes,
                const Stream& stream) override {
    ++calls_.downloads;
    inner_->download(source, target, bytes, stream);
  }
  void copy(const void* source, void* target, std::size_t bytes, const Stream& stream) override {
    ++calls_.copies;
    inner_->copy(source, target, bytes, stream);
  }
  void run(const compute::CustomKernel& kernel, std::span<void* const> arguments, unsigned blocks,
           const Stream& stream) override {
    ++calls_.kernels;
    inner_->run(kernel, arguments, blocks, stream);
  }

 private:
  std::unique_ptr<Backend> inner_;
  BackendCalls& calls_;
};

/// A host device whose backend counts. One at a time.
class CountingHost {
 public:
  CountingHost() : runtime_(Runtime::create()) {
    calls_ = {};
    original_ = compute::register_backend(DeviceKind::host, &make);
    (void)compute::backend_of(device());  // made now, while the factory is ours
  }
  ~CountingHost() { compute::register_backend(DeviceKind::host, original_); }
  CountingHost(const CountingHost&) = delete;
  CountingHost& operator=(const CountingHost&) = delete;

  [[nodiscard]] Device& device() { return runtime_.device("host"); }
  [[nodiscard]] static const BackendCalls& calls() { return calls_; }
  /// Everything that would be a launch on a GPU.
  [[nodiscard]] std::uint64_t launches() {
    return calls_.launches() + device().counters().fusion.launches.load();
  }

 private:
  static std::unique_ptr<compute::Backend> make(Device& device) {
    return std::make_unique<CountingBackend>(original_(device), calls_);
  }
  static inline BackendCalls calls_;
  static inline compute::BackendFactory original_ = nullptr;
  Runtime runtime_;
};

}  // namespace forebay::testing
