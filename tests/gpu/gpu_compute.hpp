// A CUDA device with its backend, and device memory that tests fill and read.
#pragma once

#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "forebay/compute/backend.hpp"
#include "forebay/runtime/runtime.hpp"
#include "tests/compute/cuda/program_case.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/device.hpp"

namespace forebay::test {

struct GpuCompute {
  explicit GpuCompute(const Config& config = device_config()) : runtime(Runtime::create(config)) {}
  ~GpuCompute() { runtime.close(); }
  GpuCompute(const GpuCompute&) = delete;
  GpuCompute& operator=(const GpuCompute&) = delete;

  Runtime runtime;
  Device& device = runtime.device("cuda");
  compute::Backend& backend = compute::backend_of(device);
  Stream stream = device.default_stream();

  /// The executor of that name, null if this build has none.
  [[nodiscard]] compute::Executor* executor(std::string_view name) const {
    for (const auto& executor : backend.executors()) {
      if (executor->name() == name) return executor.get();
    }
    return nullptr;
  }
};

/// Both ways to run a program at once: its own kernel after a wait, and the interpreter.
inline constexpr std::array<const char*, 2> kTiers{"cuda", "cuda-interpreter"};

/// A block of the device's pool.
class DeviceBlock {
 public:
  DeviceBlock(GpuCompute& gpu, std::size_t bytes, const Stream& stream)
      : pool_(gpu.device.pool()), stream_(stream) {
    pointer_ = pool_.allocate(bytes, stream.id());
  }
  ~DeviceBlock() { pool_.deallocate(pointer_, stream_.id()); }
  DeviceBlock(DeviceBlock&& other) noexcept
      : pool_(other.pool_),
        stream_(other.stream_),
        pointer_(std::exchange(other.pointer_, nullptr)) {}
  DeviceBlock(const DeviceBlock&) = delete;
  DeviceBlock& operator=(const DeviceBlock&) = delete;
  DeviceBlock& operator=(DeviceBlock&&) = delete;

  template <typename T = void>
  [[nodiscard]] T* get() const noexcept {
    return static_cast<T*>(pointer_);
  }

 private:
  pool::Pool pool_;
  Stream stream_;
  void* pointer_ = nullptr;
};

/// The bytes of a case's buffer on the device.
class DeviceBuffer {
 public:
  DeviceBuffer(GpuCompute& gpu, CaseBuffer buffer, const Stream& stream)
      : gpu_(gpu), stream_(stream), host_(std::move(buffer)), block_(gpu, bytes(), stream) {
    gpu.backend.upload(host_.bytes.data(), DType::u8, block_.get(), DType::u8, bytes(), stream);
  }
  [[nodiscard]] void* first() const noexcept { return block_.get<std::byte>() + host_.offset; }
  [[nodiscard]] CaseBuffer back() const {
    CaseBuffer copy = host_;
    gpu_.backend.download(block_.get(), copy.bytes.data(), bytes(), stream_);
    return copy;
  }

 private:
  [[nodiscard]] std::size_t bytes() const noexcept { return host_.bytes.size(); }

  GpuCompute& gpu_;
  Stream stream_;
  CaseBuffer host_;
  DeviceBlock block_;
};

/// A case's buffers on the device, ready to run.
class DeviceCase {
 public:
  DeviceCase(GpuCompute& gpu, const ProgramCase& data, const Stream& stream)
      : gpu_(gpu), data_(data), stream_(stream), binding_(data.binding()) {
    for (const CaseBuffer& leaf : data.leaves()) leaves_.emplace_back(gpu, leaf, stream);
    for (std::size_t k = 0; k < data.program().outputs.size(); ++k) {
      outputs_.emplace_back(gpu, data.output_buffer(k), stream);
    }
    if (data.program().reduction) reduction_.emplace(gpu, data.reduction_buffer(), stream);
    for (const DeviceBuffer& leaf : leaves_) binding_.leaves.push_back(leaf.first());
    for (const DeviceBuffer& output : outputs_) binding_.outputs.push_back(output.first());
    if (reduction_) binding_.reduction = reduction_->first();
  }
  /// `program` is the case's, at an address that stays. The last executor is always ready.
  void run(const compute::Program& program) { run(program, *gpu_.backend.executors().back()); }
  void run(const compute::Program& program, compute::Executor& executor) {
    REQUIRE(try_run(program, executor));
  }
  [[nodiscard]] bool try_run(const compute::Program& program, compute::Executor& executor) {
    return executor.run(program, binding_, stream_) == compute::Readiness::done;
  }
  /// Empty, or what is wrong.
  [[nodiscard]] std::string check() const {
    for (std::size_t k = 0; k < outputs_.size(); ++k) {
      if (std::string wrong = data_.check_output(k, outputs_[k].back()); !wrong.empty())
        return wrong;
    }
    return reduction_ ? data_.check_reduction(reduction_->back()) : "";
  }
  [[nodiscard]] std::vector<std::byte> reduction_bytes() const { return reduction_->back().bytes; }
  /// The outputs and the reduction, for ProgramCase::same.
  [[nodiscard]] std::vector<CaseBuffer> buffers() const {
    std::vector<CaseBuffer> all;
    for (const DeviceBuffer& output : outputs_) all.push_back(output.back());
    if (reduction_) all.push_back(reduction_->back());
    return all;
  }
  [[nodiscard]] compute::Binding& binding() noexcept { return binding_; }

 private:
  GpuCompute& gpu_;
  const ProgramCase& data_;
  Stream stream_;
  compute::Binding binding_;
  std::vector<DeviceBuffer> leaves_, outputs_;
  std::optional<DeviceBuffer> reduction_;
};

}  // namespace forebay::test
