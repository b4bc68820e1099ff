#include "forebay/runtime/device.hpp"

#include <exception>

#include "forebay/runtime/log.hpp"
#include "runtime/process.hpp"

namespace forebay {

std::string_view to_string(DeviceKind kind) noexcept {
  switch (kind) {
    case DeviceKind::host:
      return "host";
    case DeviceKind::cuda:
      return "cuda";
    case DeviceKind::simulated:
      return "simulated";
  }
  return "unknown";
}

Device::Device(DeviceInfo info, Config config)
    : info_(std::move(info)), config_(std::move(config)), generation_(process::generation()) {
  process::watch_forks();
}

Device::~Device() = default;

std::string Device::id() const {
  std::string id(to_string(info_.kind));
  if (info_.kind == DeviceKind::cuda) id += ":" + std::to_string(info_.index);
  return id;
}

std::string Device::id_beside(const Device& other) const {
  return id() + (this != &other && id() == other.id() ? " of another runtime" : "");
}

bool Device::forked() const noexcept { return generation_ != process::generation(); }

bool Device::closed() const noexcept {
  return state_.load(std::memory_order_acquire) == State::closed || forked();
}

void Device::require_open() const {
  if (forked()) {
    throw ClosedError("the device " + id() +
                      " was opened before fork(); a forked child must create a Runtime of its own");
  }
  if (state_.load(std::memory_order_acquire) != State::open) {
    throw ClosedError("the device " + id() + " was closed");
  }
}

ExportedBlock Device::export_block(const void*) {
  require_open();
  throw DeviceError("memory of " + id() + " cannot be exported; only a CUDA device's can");
}

ImportedBlock Device::import_block(const ExportedBlock&) {
  require_open();
  throw DeviceError("memory cannot be imported to " + id() + "; only to a CUDA device");
}

void* Device::extension_slot(std::type_index type,
                             const std::function<std::shared_ptr<void>()>& make) {
  require_open();  // first: in a forked child the mutex may be locked for ever
  const std::lock_guard lock(extensions_mutex_);
  require_open();
  for (const auto& [known, extension] : extensions_) {
    if (known == type) return extension.get();
  }
  std::shared_ptr<void> made = make();
  return extensions_.emplace_back(type, std::move(made)).second.get();
}

void Device::close() noexcept {
  if (forked()) return;
  const std::lock_guard lock(close_mutex_);
  if (state_.load(std::memory_order_acquire) != State::open) return;
  try {
    synchronize();
  } catch (const std::exception& error) {
    log(LogLevel::error, std::string("while closing: ") + error.what());
  }
  decltype(extensions_) ending;
  {
    const std::lock_guard extensions_lock(extensions_mutex_);
    state_.store(State::closing, std::memory_order_release);
    ending.swap(extensions_);
  }
  // Outside the lock: a worker of an extension may still ask for one, and gets a ClosedError.
  while (!ending.empty()) ending.pop_back();
  try {
    last_stats_ = make_stats_json(StatsDetail::counters);
  } catch (const std::exception& error) {
    log(LogLevel::error, std::string("no statistics at the end: ") + error.what());
  }
  state_.store(State::closed, std::memory_order_release);
  if (pool_) pool_.close();
  if (pinned_) pinned_.close();
  shut_down();
}

}  // namespace forebay
