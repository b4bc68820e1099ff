#include "compute/cuda/executors.hpp"

#include <string>

#include "compute/cuda/cuda_executor.hpp"
#include "compute/cuda/interpreted_executor.hpp"
#include "forebay/runtime/log.hpp"

namespace forebay::cuda {
namespace {

std::unique_ptr<compute::Executor> make_interpreter(CudaDevice& device, StreamScratch& scratch,
                                                    const InterpreterImage& image) {
  if (image.words.empty()) return nullptr;
  try {
    return std::make_unique<InterpretedExecutor>(device, scratch, image);
  } catch (const DriverError& error) {
    log(LogLevel::warn,
        "programs on " + device.id() +
            " wait for their kernels, since the interpreter cannot be had: " + error.what());
    return nullptr;
  }
}

}  // namespace

std::vector<std::unique_ptr<compute::Executor>> make_executors(CudaDevice& device,
                                                               StreamScratch& scratch,
                                                               const InterpreterImage& image) {
  std::vector<std::unique_ptr<compute::Executor>> executors;
  const FusionTier tier = device.config().fusion.tier;
  std::unique_ptr<compute::Executor> interpreter;
  if (tier != FusionTier::compile) interpreter = make_interpreter(device, scratch, image);
  if (interpreter != nullptr) {
    if (tier == FusionTier::automatic) {
      executors.push_back(std::make_unique<CudaExecutor>(device, scratch, device.kernels(),
                                                         KernelWait::background));
    }
    executors.push_back(std::move(interpreter));
  }
  executors.push_back(
      std::make_unique<CudaExecutor>(device, scratch, device.kernels(), KernelWait::wait));
  return executors;
}

}  // namespace forebay::cuda
