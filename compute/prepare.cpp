#include "forebay/compute/prepare.hpp"

#include "compute/engine.hpp"

namespace forebay {

bool prepare(Device& device, std::chrono::milliseconds limit) {
  compute::Engine& engine = compute::Engine::of(device);
  compute::Backend* backend = nullptr;
  {
    const std::lock_guard lock(engine.mutex());
    engine.refuse_in_capture("prepare", "call it before");
    backend = &engine.backend();
    backend->warm_up();
  }
  return backend->prepare(limit);
}

}  // namespace forebay
