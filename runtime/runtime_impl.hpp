// What stands behind Runtime, with the seam through which tests bring devices of their own.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/runtime/runtime.hpp"

namespace forebay {

/// Where a Runtime finds devices besides the host: CUDA's, unless a test says otherwise.
struct Platform {
  std::function<std::vector<DeviceReport>()> list;
  std::function<std::shared_ptr<Device>(int index, const Config& config)> open;
  std::function<std::vector<DeviceReport>()> describe = list;  ///< the same for people to read
};

/// Owns the devices of a Runtime.
///
/// Thread safety: any thread; who opens a device makes others wait that want one.
/// Invariants: (1) a device stays in `devices_` until the end, closed or not, so that references
/// to it stay valid; (2) in a forked child no lock is taken and no device is destroyed.
class Runtime::Impl : public std::enable_shared_from_this<Runtime::Impl> {
 public:
  Impl(const Config& config, Platform platform);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// A Runtime whose CUDA devices come from `platform`.
  [[nodiscard]] static Runtime make(const Config& config, Platform platform);

  [[nodiscard]] Device& device(std::string_view id);
  [[nodiscard]] std::vector<DeviceReport> devices() const;
  void close() noexcept;
  [[nodiscard]] bool closed() const noexcept;
  [[nodiscard]] const Config& config() const noexcept { return config_; }

 private:
  /// By what users call them: a device may stand there as "auto" and as "cuda:0".
  using Devices = std::map<std::string, std::shared_ptr<Device>, std::less<>>;

  [[nodiscard]] bool forked() const noexcept;
  void require_open() const;
  /// "host" or "cuda:N" for what the user wrote. Throws DeviceError.
  [[nodiscard]] std::string resolve(std::string_view id) const;
  [[nodiscard]] std::shared_ptr<Device> open(const std::string& id) const;

  const Config config_;
  const Platform platform_;
  const std::uint32_t generation_;  // of the process that created the runtime
  std::atomic<bool> closed_{false};
  std::mutex mutex_;
  Devices devices_;  // mutex_
};

}  // namespace forebay
