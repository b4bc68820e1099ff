// The backend of the host: a blocked interpreter, CBLAS, and plain copies.
#pragma once

#include <memory>

#include "forebay/compute/backend.hpp"

namespace forebay::compute {

[[nodiscard]] std::unique_ptr<Backend> make_host_backend(Device& device);

}  // namespace forebay::compute
