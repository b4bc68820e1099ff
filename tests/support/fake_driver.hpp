// A CUDA driver without a device: it keeps the driver's rules on host memory and computes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "forebay/runtime/config.hpp"
#include "runtime/driver/cuda_api.hpp"

namespace forebay::test {

/// While it lives, its table behaves like the driver of a machine with the given devices. The
/// driver contract (driver_contract.hpp) holds for both; where the driver's behaviour is unknown,
/// the fake refuses. Kernels do not run: a launch is refused, or only counted.
///
/// Device addresses are real addresses of this process, so that copies and memsets work. Streams
/// run their work at once unless they are held. Thread safety: the table from any thread; one
/// FakeDriver at a time.
class FakeDriver {
 public:
  struct Options {
    int devices = 1;
    std::size_t memory = std::size_t{1} << 30;       ///< bytes of each device
    std::size_t granularity = std::size_t{2} << 20;  ///< of physical memory
    bool virtual_memory = true;
    bool export_files = true;     ///< handles can be exported as file descriptors
    int isolated = -1;            ///< a device whose memory the others cannot reach; none
    bool count_launches = false;  ///< accept and count launches instead of refusing them
  };

  explicit FakeDriver(const Options& options);
  FakeDriver() : FakeDriver(Options{}) {}
  ~FakeDriver();
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;

  /// A table as CudaApi::open gives it, cuInit done. Calls after this object is gone answer
  /// CUDA_ERROR_DEINITIALIZED and are counted by `calls_after_end`.
  [[nodiscard]] std::shared_ptr<const driver::CudaApi> api() const { return api_; }

  /// The `nth` call from now on (1 is the next) of `call` answers `result`; so do all later ones
  /// with `from_then_on`. An empty name means any call.
  void fail(const std::string& call, int nth, CUresult result, bool from_then_on = false);
  /// Takes back every `fail`.
  void heal();
  /// From now on every call answers CUDA_ERROR_DEINITIALIZED, as at the end of a process.
  void deinitialise();

  /// Work of the stream waits until `let_go` or until somebody waits for it.
  void hold(CUstream stream);
  void let_go(CUstream stream);
  /// Lets exactly one piece of held work of the stream run; false if there is none that may.
  bool step(CUstream stream);

  [[nodiscard]] std::size_t bytes_in_use(int device = 0) const;
  [[nodiscard]] std::uint64_t launches() const;
  /// The last one, by a graph of one kernel or not.
  struct Launch {
    CUfunction function = nullptr;
    unsigned blocks = 0;
    unsigned threads = 0;
    unsigned shared_bytes = 0;
    std::uint64_t parameter = 0;  ///< its first eight bytes, by a graph; 0 otherwise
  };
  [[nodiscard]] Launch last_launch() const;
  [[nodiscard]] std::uint64_t releases_while_mapped() const;
  /// Everything that was made and not given back, by kind; empty when there is nothing.
  [[nodiscard]] std::string leaks() const;
  /// Calls that reached the table while no FakeDriver was alive, ever.
  [[nodiscard]] static std::uint64_t calls_after_end();

 private:
  std::shared_ptr<driver::CudaApi> api_;
};

/// The default configuration, but the compiler is not warmed up, since most tests on the fake
/// compile nothing, and no test finds the kernels of another.
[[nodiscard]] inline Config fake_config() {
  Config config;
  config.kernels.prepare = false;
  config.kernels.cache.enabled = false;
  return config;
}

}  // namespace forebay::test
