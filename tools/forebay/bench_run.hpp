// What every bench shares: its common options, its device, and where its results go.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "forebay/runtime/runtime.hpp"
#include "tools/forebay/command.hpp"
#include "tools/forebay/output.hpp"

namespace forebay::tools {

/// The options that every bench takes.
struct BenchOptions {
  std::string device = "auto";
  std::string config_file;
  std::string json_file;
  std::string stats_file;
  std::string trace_file;
  std::string leaks_file;
  bool detail = false;  ///< all that a device can tell goes into stats_file

  /// `devices` and `of` tell in the help which devices there are, and what for.
  void declare(OptionSet& options, const char* devices = "auto|host|cuda[:N]",
               const char* of = "where to compute");
};

/// Whether `id` is auto, host, cuda or cuda:N.
[[nodiscard]] bool spells_device(const std::string& id);

/// What --detail does, wherever statistics are written.
inline constexpr const char* kDetailHelp =
    "with statistics: also each range of the pool's memory, and what is live by tag and place";

/// The configuration in `file`, or the default one for an empty name. Throws ConfigError.
[[nodiscard]] Config load_config(const std::string& file);

/// A bench while it runs. Mistakes come out in the order of what they would cost: words, files,
/// the configuration, the device.
class BenchRun {
 public:
  /// Opens a device that no runtime knows.
  using OpenSimulated = std::function<std::shared_ptr<Device>(const Config&)>;

  /// `adjust` may change the configuration before the device opens; `simulated` opens the device
  /// "simulated", which is no device without it. Throws UsageError, ConfigError, DeviceError,
  /// DriverError and Error for files that cannot be written.
  explicit BenchRun(const BenchOptions& options, const std::function<void(Config&)>& adjust = {},
                    const OpenSimulated& simulated = {});

  [[nodiscard]] Device& device() noexcept { return *device_; }
  /// The configuration as it was asked for; the device's own has its zeros resolved.
  [[nodiscard]] const Config& config() const noexcept { return runtime_.config(); }
  /// One line for people on standard output, unless that carries a file's content.
  void say(const std::string& line) const;
  /// Keeps the device's statistics and the trace of its pool as they are now for `finish`. No cost
  /// when nobody wants them.
  void take_stats();
  /// Writes the files that were asked for. Closes the device if one of them is about leaks: what
  /// lives then has outlived everything.
  void finish(const std::string& json);

 private:
  OutputFile json_;
  OutputFile stats_;
  OutputFile trace_;
  OutputFile leaks_;
  Runtime runtime_;
  std::shared_ptr<Device> simulated_;
  Device* device_;
  const StatsDetail detail_;
  std::string stats_text_, trace_text_;
};

}  // namespace forebay::tools
