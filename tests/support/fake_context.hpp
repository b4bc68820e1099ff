// The context of a fake device, for tests of what stands on one.
#pragma once

#include <memory>

#include "runtime/cuda/context.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_driver.hpp"

namespace forebay::test {

struct FakeContext {
  FakeDriver driver;
  std::shared_ptr<const driver::CudaApi> api = driver.api();
  std::shared_ptr<cuda::Context> context = std::make_shared<cuda::Context>(api, 0);

  FakeContext() { REQUIRE(context->enter()); }
  explicit FakeContext(const FakeDriver::Options& options) : driver(options) {
    REQUIRE(context->enter());
  }
};

}  // namespace forebay::test
