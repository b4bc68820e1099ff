// A device: its pools, streams, counters and what the layers above keep for it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <typeindex>
#include <utility>
#include <vector>

#include "forebay/pool/pool.hpp"
#include "forebay/runtime/config.hpp"
#include "forebay/runtime/counters.hpp"
#include "forebay/runtime/sharing.hpp"
#include "forebay/runtime/stream.hpp"

namespace forebay {

/// `simulated`: memory that is only numbers, for replaying traces; nothing computes on it.
enum class DeviceKind : std::uint8_t { host, cuda, simulated };
/// "host", "cuda", "simulated".
[[nodiscard]] std::string_view to_string(DeviceKind kind) noexcept;

/// How much the statistics of a device tell. `everything` adds the ranges of its memory
/// (`pool.map` and `pinned.map`, at most kMapRanges each) and what is live by tag and place
/// (`leaks`). Cost of that: walks over all blocks, and a document of some megabytes at most.
enum class StatsDetail : std::uint8_t { counters, everything };
inline constexpr std::size_t kMapRanges = std::size_t{1} << 16;

/// What a device is, for messages and statistics.
struct DeviceInfo {
  DeviceKind kind = DeviceKind::host;
  int index = 0;
  std::string name;          ///< "NVIDIA H200"; the processor's name on the host
  std::string architecture;  ///< "sm_90"; "x86-64" on the host
  int multiprocessors = 1;   ///< cores on the host
  std::size_t total_bytes = 0;
  double cuinit_s = 0;   ///< seconds that cuInit took, 0 on the host
  double context_s = 0;  ///< seconds that the primary context took, 0 on the host
};

/// An opened device. `Runtime` makes them; whoever holds a tensor keeps its device's shell alive,
/// but after `close()` every use throws ClosedError.
/// Thread safety: every call may be made from any thread.
class Device : public std::enable_shared_from_this<Device> {
 public:
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device();

  [[nodiscard]] const DeviceInfo& info() const noexcept { return info_; }
  /// "host", "cuda:0" or "simulated".
  [[nodiscard]] std::string id() const;
  /// The id, for messages in which `other` stands too: "host of another runtime" where both have
  /// the same.
  [[nodiscard]] std::string id_beside(const Device& other) const;
  [[nodiscard]] const Config& config() const noexcept { return config_; }
  [[nodiscard]] DeviceCounters& counters() noexcept { return counters_; }

  /// Memory of the device.
  [[nodiscard]] pool::Pool& pool() noexcept { return pool_; }
  [[nodiscard]] const pool::Pool& pool() const noexcept { return pool_; }
  /// Host memory that the device reads and writes directly: pinned; on the host the pool itself.
  [[nodiscard]] pool::Pool& pinned_pool() noexcept { return pinned_; }
  [[nodiscard]] const pool::Pool& pinned_pool() const noexcept { return pinned_; }

  /// The stream on which tensors of this device work.
  [[nodiscard]] const Stream& default_stream() const noexcept { return default_stream_; }
  /// A further stream. Throws DriverError, ClosedError.
  [[nodiscard]] virtual Stream create_stream() = 0;

  /// The live block of the pool that begins at `pointer`, for another process to map; with
  /// `pool.export` at "fd". The files cover whole handles, so the other process sees the block's
  /// neighbours too. The block must stay allocated while others use it: freed, its memory is given
  /// to other blocks here. Throws ConfigError when the pool is not made for it, Error for a pointer
  /// that is no block, DeviceError on the host, DriverError, ClosedError.
  [[nodiscard]] virtual ExportedBlock export_block(const void* pointer);
  /// Maps a block of another process for this device, which may be another than the block's if it
  /// can reach that. The files may be closed afterwards. Throws Error for sizes that do not fit
  /// together, DeviceError on the host, DriverError (nothing is mapped then), ClosedError.
  [[nodiscard]] virtual ImportedBlock import_block(const ExportedBlock& block);

  /// Waits for all work on the device. Throws DriverError, ClosedError.
  virtual void synchronize() = 0;
  /// Bytes free on the whole device, other processes counted.
  [[nodiscard]] virtual std::size_t free_bytes() const noexcept = 0;
  /// Calls of the driver so far, 0 on the host: the sum over the whole table.
  [[nodiscard]] virtual std::uint64_t driver_calls() const noexcept = 0;

  /// The one `T` that a layer above keeps for this device, made at first use by `make(device)` and
  /// destroyed when the device closes, the latest first.
  template <typename T, typename Make>
  [[nodiscard]] T& extension(Make&& make) {
    return *static_cast<T*>(extension_slot(typeid(T), [&]() -> std::shared_ptr<void> {
      return std::shared_ptr<T>(std::forward<Make>(make)(*this));
    }));
  }

  /// Throws ClosedError, naming the device and the reason, once it is closing, closed or a copy in
  /// a forked child. Cost: two loads.
  void require_open() const;
  /// Whether the device has ended: nothing may be given back to its pools any more. True in a
  /// forked child, which has only a copy; false while `close()` destroys extensions, so that they
  /// can give back what they hold.
  [[nodiscard]] bool closed() const noexcept;
  /// Ends the device: waits for its work, destroys extensions, closes pools, streams and context.
  /// Twice is fine. Never throws. Does nothing in a forked child.
  /// REQUIRES: no other thread is inside a call that uses the device, and dropping the last handle
  /// of a tensor is one.
  void close() noexcept;

  /// The statistics of this device as a `forebay.stats/1` document. Works after `close()` too, with
  /// the numbers from before the pools closed and no more than counters. Throws ClosedError in a
  /// forked child.
  [[nodiscard]] std::string stats_json(StatsDetail detail = StatsDetail::counters) const;
  /// What is live in the pools of this device, as a `forebay.leaks/1` document; after `close()`
  /// what was live when the pools closed. Throws ClosedError in a forked child.
  [[nodiscard]] std::string leaks_json() const;

 protected:
  Device(DeviceInfo info, Config config);
  /// What a kind of device does at the end, after extensions and pools are gone.
  virtual void shut_down() noexcept = 0;

  DeviceInfo info_;
  Config config_;
  DeviceCounters counters_;
  pool::Pool pool_;
  pool::Pool pinned_;
  Stream default_stream_;

 private:
  enum class State : std::uint8_t { open, closing, closed };

  void* extension_slot(std::type_index type, const std::function<std::shared_ptr<void>()>& make);
  [[nodiscard]] bool forked() const noexcept;
  /// The document from the pools as they are now.
  [[nodiscard]] std::string make_stats_json(StatsDetail detail) const;

  const std::uint32_t generation_;  // of the process that opened the device
  std::atomic<State> state_{State::open};
  std::recursive_mutex close_mutex_;  // held for all of close(), taken before extensions_mutex_
  std::string last_stats_;            // written by close() before state_ becomes closed
  std::recursive_mutex extensions_mutex_;
  std::vector<std::pair<std::type_index, std::shared_ptr<void>>> extensions_;  // extensions_mutex_
};

/// `made` is called with each device that a Runtime opens from now on, before anybody else has it:
/// there a layer above makes what its first use would make otherwise (`Device::extension`). Of
/// several functions the latest comes first. What one throws closes the device, and whoever wanted
/// to open it gets that. REQUIRES: `made` calls nothing of a Runtime, which is locked meanwhile,
/// and stays callable until the process ends. Throws bad_alloc. Thread safety: any thread.
void when_opened(void (*made)(Device& device));

}  // namespace forebay
