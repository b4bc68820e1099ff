// The backend of CUDA devices.
#pragma once

#include <memory>

#include "forebay/compute/backend.hpp"

namespace forebay::compute {

/// REQUIRES: `device` is a CUDA device, which outlives the backend.
[[nodiscard]] std::unique_ptr<Backend> make_cuda_backend(Device& device);

}  // namespace forebay::compute
