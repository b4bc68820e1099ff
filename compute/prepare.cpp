#include "forebay/compute/prepare.hpp"

#include "forebay/compute/backend.hpp"

namespace forebay {

bool prepare(Device& device, std::chrono::milliseconds limit) {
  return compute::backend_of(device).prepare(limit);
}

}  // namespace forebay
