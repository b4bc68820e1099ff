// The seam between the Runtime and CUDA: what is there, and opening one of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "forebay/runtime/runtime.hpp"

namespace forebay::cuda {

/// What reports say beside what the driver knows: `compiler` opens NVRTC for it, tens of
/// milliseconds in a process that has not.
enum class Detail : std::uint8_t { driver, compiler };

/// One report a CUDA device, in the driver's order with ids "cuda:0", "cuda:1" …; where there is
/// none, a single one with the id "cuda", not usable, whose detail says why ("libcuda.so.1 could
/// not be opened: …"). Opens no context and throws nothing of forebay's.
/// Thread safety: any thread. Cost: the first call initialises the driver.
[[nodiscard]] std::vector<DeviceReport> list_devices(Detail detail = Detail::driver);

/// The compiler for kernels that a driver of `driver_version` can follow, and what its absence
/// means, as reports say it. Cost: opens NVRTC.
[[nodiscard]] std::string describe_compiler(int driver_version);

/// Opens the device of the report with id "cuda:<index>". Throws DeviceError, DriverError,
/// ConfigError, OutOfMemory.
[[nodiscard]] std::shared_ptr<Device> open_device(int index, const Config& config);

}  // namespace forebay::cuda
