// Runs cuda_end_program.cpp, which leaves a CUDA device open in the way it is told.
#pragma once

#include <string>
#include <utility>

namespace forebay::test {

/// Its exit code, and what it wrote to standard error. `environment` is put before the command, as
/// a shell takes it: "NAME=value".
[[nodiscard]] std::pair<int, std::string> run_cuda_end(const std::string& scenario,
                                                       const std::string& environment = "");

}  // namespace forebay::test
