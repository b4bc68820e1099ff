// The executors of a CUDA device.
#pragma once

#include <memory>
#include <vector>

#include "compute/cuda/interpreter_image.hpp"
#include "compute/cuda/stream_scratch.hpp"
#include "forebay/compute/backend.hpp"

namespace forebay::cuda {

/// By `fusion.tier`: a program runs by its kernel if that is ready, else interpreted. A build
/// without nvcc has no interpreter, and a driver that does not take the one of this build is told
/// of once in the log: programs wait for their kernels then.
[[nodiscard]] std::vector<std::unique_ptr<compute::Executor>> make_executors(
    CudaDevice& device, StreamScratch& scratch,
    const InterpreterImage& image = interpreter_image());

}  // namespace forebay::cuda
