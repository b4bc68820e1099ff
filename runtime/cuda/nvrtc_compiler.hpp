// CUDA C++ to a cubin, in memory. Needs NVRTC, no driver and no device.
#pragma once

#include <string>
#include <string_view>

#include "runtime/driver/nvrtc_api.hpp"

namespace forebay::cuda {

struct CompileOptions {
  std::string architecture;    ///< exact, "sm_90"
  bool compiler_cache = true;  ///< whether NVRTC may use its cache on disk (from 12.9 on)
};

/// Compiles `source`, which includes nothing, as C++17 with contraction off. `name` stands for the
/// source in messages. Throws CompileError with the compiler's log, DriverError.
/// Cost: tens of milliseconds.
[[nodiscard]] std::string compile_cubin(const driver::NvrtcApi& nvrtc, std::string_view source,
                                        const std::string& name, const CompileOptions& options);

}  // namespace forebay::cuda
