#include "forebay/runtime/runtime.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "forebay/runtime/log.hpp"
#include "runtime/config_keys.hpp"
#include "runtime/cuda/cuda_platform.hpp"
#include "runtime/host/host_device.hpp"
#include "runtime/host/host_memory.hpp"
#include "runtime/opening.hpp"
#include "runtime/process.hpp"
#include "runtime/runtime_impl.hpp"
#include "runtime/size_text.hpp"

namespace forebay {

namespace {

constexpr std::string_view kHost = "host";
constexpr std::string_view kCuda = "cuda";
constexpr std::string_view kCudaPrefix = "cuda:";

/// The runtimes that are open, so that the end of the process can close them.
struct OpenRuntimes {
  std::mutex mutex;
  std::map<Runtime::Impl*, std::weak_ptr<Runtime::Impl>> runtimes;  // mutex
};
constinit process::PerProcess<OpenRuntimes> open_runtimes;

void close_all() {
  decltype(OpenRuntimes::runtimes) ending;
  {
    const std::lock_guard lock(open_runtimes.get().mutex);
    ending = open_runtimes.get().runtimes;
  }
  for (const auto& [impl, weak] : ending) {
    if (const auto alive = weak.lock()) alive->close();
  }
}

/// Functions registered last run first at exit. Once registered after a driver was initialised,
/// `close_all` runs while that driver still works, wherever the application keeps its Runtime.
void close_all_at_exit_before_driver() {
  [[maybe_unused]] static const int registered = std::atexit(close_all);
}

std::string quoted(std::string_view id) {
  std::string text = "\"";
  for (const char c : id.substr(0, 40)) text += c >= ' ' && c != 127 ? c : '?';
  return text + (id.size() > 40 ? "...\"" : "\"");
}

DeviceReport host_report() {
  const int cores = host::cores();
  return {std::string(kHost), host::processor_name(), true,
          std::to_string(cores) + (cores == 1 ? " core, " : " cores, ") +
              describe_size(host::total_memory()) + ", " + host::architecture()};
}

/// `usable are: host (AMD EPYC), cuda:0 (NVIDIA H200)`
std::string usable(const std::vector<DeviceReport>& cuda) {
  const DeviceReport host = host_report();
  std::string text = "usable are: " + host.id + " (" + host.name + ")";
  for (const DeviceReport& report : cuda) {
    if (report.usable) text += ", " + report.id + " (" + report.name + ")";
  }
  return text;
}

}  // namespace

Runtime Runtime::create(const Config& config) {
  return Impl::make(config, {[] { return cuda::list_devices(); }, cuda::open_device,
                             [] { return cuda::list_devices(cuda::Detail::compiler); }});
}

Device& Runtime::device(std::string_view id) { return impl_->device(id); }
std::vector<DeviceReport> Runtime::devices() const { return impl_->devices(); }
void Runtime::close() noexcept { impl_->close(); }
bool Runtime::closed() const noexcept { return impl_->closed(); }
const Config& Runtime::config() const noexcept { return impl_->config(); }

Runtime Runtime::Impl::make(const Config& config, Platform platform) {
  config_keys::check(config, "configuration");
  auto impl = std::make_shared<Impl>(config, std::move(platform));
  [[maybe_unused]] static const int registered = std::atexit(close_all);
  OpenRuntimes& open = open_runtimes.get();
  const std::lock_guard lock(open.mutex);
  open.runtimes.emplace(impl.get(), impl);
  return Runtime(std::move(impl));
}

Runtime::Impl::Impl(const Config& config, Platform platform)
    : config_(config), platform_(std::move(platform)), generation_(process::generation()) {
  process::watch_forks();
  set_log_level(config_.log_level);
}

Runtime::Impl::~Impl() {
  if (forked()) {
    static process::PerProcess<std::vector<Devices>> abandoned;
    abandoned.get().push_back(std::move(devices_));
    return;
  }
  close();
  OpenRuntimes& open = open_runtimes.get();
  const std::lock_guard lock(open.mutex);
  open.runtimes.erase(this);
}

bool Runtime::Impl::forked() const noexcept { return generation_ != process::generation(); }

bool Runtime::Impl::closed() const noexcept { return closed_.load() || forked(); }

void Runtime::Impl::require_open() const {
  if (forked()) {
    throw ClosedError(
        "the runtime was created before fork(); a forked child must create a Runtime of its own");
  }
  if (closed_.load()) throw ClosedError("the runtime was closed");
}

Device& Runtime::Impl::device(std::string_view id) {
  require_open();
  const std::lock_guard lock(mutex_);
  require_open();
  if (const auto known = devices_.find(id); known != devices_.end()) return *known->second;
  const std::string resolved = resolve(id);
  std::shared_ptr<Device>& device = devices_[resolved];
  if (device == nullptr) {
    try {
      device = open(resolved);
      opening::tell(*device);
    } catch (...) {
      if (device != nullptr) device->close();
      devices_.erase(resolved);
      throw;
    }
    log(LogLevel::info, "opened " + resolved + ": " + device->info().name);
  }
  return *devices_.emplace(id, device).first->second;
}

std::shared_ptr<Device> Runtime::Impl::open(const std::string& id) const {
  if (id == kHost) return host::HostDevice::open(config_);
  auto device = platform_.open(std::stoi(id.substr(kCudaPrefix.size())), config_);
  close_all_at_exit_before_driver();
  return device;
}

std::string Runtime::Impl::resolve(std::string_view id) const {
  if (id == kHost) return std::string(id);
  const bool numbered = id.substr(0, kCudaPrefix.size()) == kCudaPrefix &&
                        id.size() > kCudaPrefix.size() &&
                        std::all_of(id.begin() + kCudaPrefix.size(), id.end(),
                                    [](char c) { return c >= '0' && c <= '9'; });
  if (id != "auto" && id != kCuda && !numbered) {
    throw DeviceError(
        quoted(id) +
        " is no device; a device is \"auto\", \"host\", \"cuda\" or \"cuda:N\" with N "
        "from 0");
  }
  const auto reports = platform_.list();
  const auto found = std::find_if(reports.begin(), reports.end(), [&](const DeviceReport& report) {
    return numbered ? report.id == id : report.usable;
  });
  if (found != reports.end() && found->usable) return found->id;
  if (id == "auto") return std::string(kHost);
  std::string line = "there is no device " + quoted(id);
  if (found != reports.end()) {
    line = "the device " + quoted(id) + " cannot be used: " + found->detail;
  } else if (!reports.empty() && !reports.front().usable) {
    line += ": " + reports.front().detail;
  }
  throw DeviceError(line + "; " + usable(reports));
}

std::vector<DeviceReport> Runtime::Impl::devices() const {
  require_open();
  std::vector<DeviceReport> reports{host_report()};
  for (DeviceReport& report : platform_.describe()) reports.push_back(std::move(report));
  return reports;
}

void Runtime::Impl::close() noexcept {
  if (forked()) return;
  closed_.store(true);
  const std::lock_guard lock(mutex_);
  for (const auto& [id, device] : devices_) device->close();
}

}  // namespace forebay
