// Peers: the other devices that get access to a device's memory.
#pragma once

#include <cuda.h>

#include <vector>

#include "forebay/pool/pool.hpp"
#include "runtime/driver/cuda_api.hpp"

namespace forebay::cuda {

/// The devices that `which` means for the memory of cuda:`index`, in the driver's order. Throws
/// DeviceError naming both devices if one of `all` cannot reach the memory, DriverError.
[[nodiscard]] std::vector<CUdevice> find_peers(const driver::CudaApi& api, int index,
                                               pool::PoolPeers which);

}  // namespace forebay::cuda
