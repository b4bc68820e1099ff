// Adam's CUDA kernel without a GPU.
#pragma once

#include <span>

namespace forebay::test {

/// What `Backend::run` takes, run by threads that take turns on the host.
void run_emulated_adam(std::span<void* const> arguments, unsigned blocks);

}  // namespace forebay::test
