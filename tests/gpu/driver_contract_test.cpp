// The driver keeps the contract on which the fake driver, and with it every other test, stands.
#include "tests/support/driver_contract.hpp"

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <thread>

#include "tests/support/catch.hpp"
#include "tests/support/device.hpp"
#include "tests/support/driver_pieces.hpp"

using namespace forebay::test;
using forebay::driver::CudaApi;

namespace {

/// Holds streams back with a host function that waits; gives up after some seconds, so that a
/// clause that fails does not hang.
class Gates {
 public:
  explicit Gates(const CudaApi& api) : api_(api) {}

  void block(CUstream stream) {
    auto& gate = gates_[stream];
    gate = std::make_unique<std::atomic<bool>>(false);
    REQUIRE(api_.cuLaunchHostFunc(stream, &wait, gate.get()) == CUDA_SUCCESS);
  }
  void unblock(CUstream stream) { gates_.at(stream)->store(true); }

 private:
  static void CUDA_CB wait(void* gate) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!static_cast<std::atomic<bool>*>(gate)->load() &&
           std::chrono::steady_clock::now() < limit) {
      std::this_thread::yield();
    }
  }

  const CudaApi& api_;
  std::map<CUstream, std::unique_ptr<std::atomic<bool>>> gates_;
};

void hold_against(std::span<const ContractClause> clauses) {
  const auto api = CudaApi::open();
  // Retained throughout, so that not every clause makes a context.
  CUcontext context = nullptr;
  REQUIRE(api->cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
  Gates gates(*api);
  const DriverUnderTest driver{api, [&](CUstream stream) { gates.block(stream); },
                               [&](CUstream stream) { gates.unblock(stream); }};
  for (const ContractClause& clause : clauses) {
    DYNAMIC_SECTION(clause.name) { clause.check(driver); }
  }
  REQUIRE(api->cuCtxSetCurrent(context) == CUDA_SUCCESS);
  CHECK(api->cuCtxSynchronize() == CUDA_SUCCESS);  // no clause left an error behind
  CHECK(api->cuDevicePrimaryCtxRelease(0) == CUDA_SUCCESS);
}

}  // namespace

TEST_CASE("the driver keeps the contract on memory") {
  FOREBAY_REQUIRE_DEVICE();
  hold_against(memory_contract());
}
TEST_CASE("the driver keeps the contract on streams") {
  FOREBAY_REQUIRE_DEVICE();
  hold_against(stream_contract());
}
TEST_CASE("the driver keeps the contract on captures") {
  FOREBAY_REQUIRE_DEVICE();
  hold_against(capture_contract());
}
TEST_CASE("the driver keeps the contract on graphs") {
  FOREBAY_REQUIRE_DEVICE();
  hold_against(graph_contract());
}
TEST_CASE("the driver keeps the contract on sharing") {
  FOREBAY_REQUIRE_DEVICE();
  hold_against(sharing_contract());
}
