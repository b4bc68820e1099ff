// What a kind of device must be able to do for tensors: executors for programs, matrix products,
// transfers and kernels of the layers above.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "forebay/compute/program.hpp"
#include "forebay/compute/row_program.hpp"
#include "forebay/runtime/device.hpp"

namespace forebay {
class Tensor;
}

namespace forebay::compute {

/// What the weakest executor of a backend can hold; expressions end there.
struct Limits {
  std::uint32_t max_ops = 256;
  std::uint32_t max_leaves = 30;
  std::uint32_t max_scalars = 128;
  std::uint32_t max_outputs = 8;
};

enum class Readiness : std::uint8_t { done, not_ready };

/// Runs programs. Several stand in a backend in order of preference; one that is not ready (its
/// kernel is still being compiled, say) leaves the program to the next.
class Executor {
 public:
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  virtual ~Executor() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Enqueues the program on `stream`. `not_ready` has done nothing. The iteration space is never
  /// empty. `program` stays at its address; see Program::prepared.
  virtual Readiness run(const Program& program, const Binding& binding, const Stream& stream) = 0;
  /// The same for a row program in one pass over its rows, with the bits that its stages give one
  /// after the other. Only the first executor of a backend is asked: where that one is not ready,
  /// the library runs the stages. `program` lives as long as the process.
  virtual Readiness run_rows(const RowProgram& /*program*/, const RowBinding& /*binding*/,
                             const Stream& /*stream*/) {
    return Readiness::not_ready;
  }
};

/// c = a · b, f32, row-major. A transposed operand is stored as its transpose.
struct MatmulArgs {
  std::int64_t m = 0, n = 0, k = 0;  ///< c is [m, n]; all at least 1
  const float* a = nullptr;          ///< [m, k], or [k, m] if a_transposed
  std::int64_t a_stride = 0;         ///< elements between rows as stored
  bool a_transposed = false;
  const float* b = nullptr;  ///< [k, n], or [n, k] if b_transposed
  std::int64_t b_stride = 0;
  bool b_transposed = false;
  float* c = nullptr;  ///< [m, n], contiguous
};

/// A kernel that a layer above brings along, in a form for each kind of device.
struct CustomKernel {
  const char* name;         ///< entry point in `cuda_source`
  const char* cuda_source;  ///< after compute/prelude; the parameters are those of `run`, in order
  unsigned block = 256;     ///< threads of a block
  /// The same work on the host; `arguments` as in `run`, `blocks` as there.
  void (*host)(std::span<void* const> arguments, unsigned blocks);
  /// The size of each parameter, by which a capture keeps their values; without it the kernel
  /// cannot be captured on a device whose backend has no graphs.
  std::span<const std::size_t> parameter_bytes{};
  /// The kernel as nvcc compiled it from `cuda_source`, a fat binary. Where it is empty, or has
  /// nothing for the device, the first run waits for a compiler.
  std::span<const std::byte> cuda_image{};
};

/// Work that was captured instead of being done.
/// Thread safety: calls are serialised with those of the backend; it may be destroyed any time.
class Recording {
 public:
  Recording() = default;
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  /// Work that was enqueued by a replay is still done.
  virtual ~Recording() = default;
  /// Enqueues the work on the stream on which it was captured.
  virtual void replay(const Stream& stream) = 0;
  /// Launches and copies.
  [[nodiscard]] virtual std::size_t size() const noexcept = 0;
};

/// One device's way to compute. Instances belong to their device (`Device::extension`).
/// Thread safety: calls are serialised by the caller for each device.
class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  [[nodiscard]] virtual Limits limits() const noexcept = 0;
  /// In order of preference, never empty; the last one is always ready.
  [[nodiscard]] virtual std::span<const std::unique_ptr<Executor>> executors() const noexcept = 0;

  /// Host memory in which kernels can leave single results, so that reading one takes no call of
  /// the driver. Empty where the host reads the device's memory anyway, or not at all.
  [[nodiscard]] virtual std::span<std::uint64_t> mailboxes() { return {}; }

  /// Makes what the first calls would make otherwise.
  virtual void warm_up() {}
  /// Waits until every program that has run would run in the way that it will run from then on;
  /// false if that took longer than `limit`. At once where programs never change their way. The one
  /// call that is not serialised with the others.
  virtual bool prepare(std::chrono::milliseconds /*limit*/) { return true; }

  virtual void matmul(const MatmulArgs& args, const Stream& stream) = 0;
  /// `count` elements from pageable host memory to the device, converted on the way.
  struct Upload {
    const void* source;
    DType source_type;
    void* target;
    DType target_type;
    std::size_t count;
  };
  /// Several at once, so that their staging overlaps. When it returns, the sources may be changed;
  /// the device's copies may still be under way on `stream`.
  virtual void upload_many(std::span<const Upload> uploads, const Stream& stream) = 0;
  /// One alone.
  void upload(const void* source, DType source_type, void* target, DType target_type,
              std::size_t count, const Stream& stream) {
    const Upload one{source, source_type, target, target_type, count};
    upload_many({&one, 1}, stream);
  }
  /// The stream on which `bytes` are to be uploaded, into memory of that stream, for work that goes
  /// on on `stream`: another one where the copies then pass by what is enqueued there already. May
  /// wait, so that not ever more uploads run ahead of the work. `join` follows. Throws DriverError.
  [[nodiscard]] virtual Stream upload_stream(std::size_t /*bytes*/, const Stream& stream) {
    return stream;
  }
  /// What is enqueued on `stream` from now on comes after what `other` was given so far, which the
  /// host waits for where the device cannot. Nothing for a stream and itself.
  virtual void join(const Stream& /*stream*/, const Stream& /*other*/) noexcept {}
  /// Waits for `stream` and copies `bytes` to the host.
  virtual void download(const void* source, void* target, std::size_t bytes,
                        const Stream& stream) = 0;
  /// Device to device on `stream`.
  virtual void copy(const void* source, void* target, std::size_t bytes, const Stream& stream) = 0;
  /// Runs a custom kernel in `blocks` blocks. `arguments[i]` points at the i-th parameter.
  virtual void run(const CustomKernel& kernel, std::span<void* const> arguments, unsigned blocks,
                   const Stream& stream) = 0;

  // Graphs. Between `begin_capture` and the end of it, what the calls above enqueue on `stream` is
  // kept instead of being done; uploads and downloads are not asked for. The library sees to the
  // memory: until a recording is destroyed, every address that it holds stays valid.
  /// Whether the backend captures itself. Then it makes ready what captured work will need. If not,
  /// the library keeps the calls and repeats them.
  [[nodiscard]] virtual bool prepare_capture(const Stream& stream);
  virtual void begin_capture(const Stream& stream);
  /// Ends it. Null if `earlier`, a recording of this backend or null, was made to hold this work
  /// instead of its own, else a new one. The stream captures no longer, whatever is thrown, and
  /// `earlier` is then what it was.
  [[nodiscard]] virtual std::unique_ptr<Recording> end_capture(const Stream& stream,
                                                               Recording* earlier);
  /// Ends it without a recording.
  virtual void abandon_capture(const Stream& stream) noexcept;
};

/// The backend of a device, made from the registry when a Runtime opens the device, or else at
/// first use. Throws DeviceError for a kind of device without one, what the factory throws,
/// ClosedError. Inside of a capture it is another one that records, where the device's own has no
/// graphs.
[[nodiscard]] Backend& backend_of(Device& device);
/// Serialises calls of a device's backend; tensors of the device may be used under it.
[[nodiscard]] std::unique_lock<std::recursive_mutex> lock_backend(Device& device);
/// To be called before a kernel writes the elements of `targets`, tensors of one device, and with
/// `lock_backend` held until it was run: whatever is pending and reads them is evaluated, so that
/// it sees what was there before. `assign` does it by itself. Throws what evaluating throws.
void will_write(std::span<const Tensor> targets);

/// Makes a backend for a device. It is called inside of `Runtime::device` and may not call that.
/// Where it throws or gives null, the device is opened all the same, one line is logged, and the
/// first tensor tries again.
using BackendFactory = std::unique_ptr<Backend> (*)(Device& device);
/// Puts a factory in the process's registry, in place of the one for the same kind, which it
/// returns (null if there was none). Devices that have their backend keep it. Thread safety: any
/// thread.
BackendFactory register_backend(DeviceKind kind, BackendFactory factory);

}  // namespace forebay::compute
