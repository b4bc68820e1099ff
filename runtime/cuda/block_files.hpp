// Blocks of the pool as file descriptors of the driver, and back.
#pragma once

#include <cuda.h>

#include <memory>

#include "forebay/pool/pool.hpp"
#include "forebay/runtime/sharing.hpp"
#include "runtime/driver/cuda_api.hpp"

namespace forebay::cuda {

/// A file for each piece. REQUIRES: the handles were made for it. Throws DriverError.
[[nodiscard]] ExportedBlock export_pieces(const driver::CudaApi& api,
                                          const pool::BlockPieces& block);

/// Maps the pieces side by side in addresses of their own, for `device`; when it throws, nothing is
/// left. Throws Error for sizes that do not fit together, DriverError.
[[nodiscard]] ImportedBlock import_pieces(std::shared_ptr<const driver::CudaApi> api,
                                          CUdevice device, const ExportedBlock& block);

}  // namespace forebay::cuda
