#include "compute/registry.hpp"

#include <array>
#include <atomic>
#include <exception>

#include "compute/engine.hpp"
#include "compute/host/host_backend.hpp"
#include "forebay/runtime/log.hpp"
#ifdef FOREBAY_HAVE_CUDA
#include "compute/cuda/cuda_backend.hpp"
#endif

namespace forebay::compute {
namespace {

// By DeviceKind. Without a lock, which a forked child could find locked.
constinit std::array<std::atomic<BackendFactory>, 3> factories{
    &make_host_backend,
#ifdef FOREBAY_HAVE_CUDA
    &make_cuda_backend,
#else
    nullptr,
#endif
    nullptr,  // nothing computes on a simulated device
};

static_assert(std::atomic<BackendFactory>::is_always_lock_free);

std::atomic<BackendFactory>& factory_of(DeviceKind kind) {
  return factories.at(static_cast<std::size_t>(kind));
}

/// A device that is opened gets its backend at once, which loads the interpreter, so that neither a
/// first tensor nor a capture pays for it. Memory can be had from a device that cannot compute.
void make_engine(Device& device) {
  if (factory_of(device.info().kind) == nullptr) return;
  try {
    (void)Engine::of(device);
  } catch (const std::exception& error) {
    log(LogLevel::warn,
        device.id() + " is opened, but its first tensor has to try again: " + error.what());
  }
}
[[maybe_unused]] const bool kToldOfDevices = (when_opened(&make_engine), true);

}  // namespace

BackendFactory register_backend(DeviceKind kind, BackendFactory factory) {
  return factory_of(kind).exchange(factory);
}

std::unique_ptr<Backend> make_backend(Device& device) {
  const BackendFactory factory = factory_of(device.info().kind);
  std::unique_ptr<Backend> backend = factory != nullptr ? factory(device) : nullptr;
  if (backend == nullptr) throw DeviceError("no compute backend is registered for " + device.id());
  return backend;
}

bool Backend::prepare_capture(const Stream& /*stream*/) { return false; }

void Backend::begin_capture(const Stream& /*stream*/) {
  throw CaptureError("this backend has no graphs of its own");
}

std::unique_ptr<Recording> Backend::end_capture(const Stream& /*stream*/, Recording* /*earlier*/) {
  throw CaptureError("this backend has no graphs of its own");
}

void Backend::abandon_capture(const Stream& /*stream*/) noexcept {}

Backend& backend_of(Device& device) { return Engine::of(device).backend(); }

std::unique_lock<std::recursive_mutex> lock_backend(Device& device) {
  return std::unique_lock(Engine::of(device).mutex());
}

}  // namespace forebay::compute
