#include "forebay/compute/prepare.hpp"

#include "forebay/compute/backend.hpp"

namespace forebay {

bool prepare(Device& device, std::chrono::milliseconds limit) {
  compute::Backend& backend = compute::backend_of(device);
  {
    const auto lock = compute::lock_backend(device);
    backend.warm_up();
  }
  return backend.prepare(limit);
}

}  // namespace forebay
