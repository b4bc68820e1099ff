// What the pool and the runtime rely on the CUDA driver for; holds for the driver and for the fake.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "runtime/driver/cuda_api.hpp"

namespace forebay::test {

/// A driver to hold against the contract.
struct DriverUnderTest {
  std::shared_ptr<const driver::CudaApi> api;
  /// Keeps what the stream is given from now on from running, until `unblock`.
  std::function<void(CUstream)> block;
  std::function<void(CUstream)> unblock;
};

struct ContractClause {
  const char* name;
  void (*check)(const DriverUnderTest& driver);
};

/// Each clause stands alone and leaves nothing behind; it checks through Catch.
[[nodiscard]] std::span<const ContractClause> memory_contract();
[[nodiscard]] std::span<const ContractClause> stream_contract();
[[nodiscard]] std::span<const ContractClause> capture_contract();
[[nodiscard]] std::span<const ContractClause> graph_contract();
/// Some clauses need a second device and say so where there is none.
[[nodiscard]] std::span<const ContractClause> sharing_contract();

}  // namespace forebay::test
