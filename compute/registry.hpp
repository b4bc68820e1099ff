// The registry of backends, the one piece of global state.
#pragma once

#include <memory>

#include "forebay/compute/backend.hpp"

namespace forebay::compute {

/// A new backend from the registered factory. Throws DeviceError for a kind without one.
[[nodiscard]] std::unique_ptr<Backend> make_backend(Device& device);

}  // namespace forebay::compute
