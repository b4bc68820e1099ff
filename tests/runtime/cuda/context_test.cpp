#include "runtime/cuda/context.hpp"

#include <thread>

#include "forebay/pool/error.hpp"
#include "tests/runtime/child.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_context.hpp"

using namespace forebay;
using cuda::Context;
using test::FakeContext;
using test::FakeDriver;

TEST_CASE("entering makes the context current on each thread") {
  FakeDriver::Options two;
  two.devices = 2;
  FakeDriver driver(two);
  const auto api = driver.api();
  const auto first = std::make_shared<Context>(api, 0);
  const auto second = std::make_shared<Context>(api, 1);
  const auto current = [&] {
    CUcontext context = nullptr;
    CHECK(api->cuCtxGetCurrent(&context) == CUDA_SUCCESS);
    return context;
  };
  CHECK(first->enter());
  CHECK(current() == first->native());
  CHECK(second->enter());
  CHECK(current() == second->native());
  std::thread([&] {
    CHECK(current() == nullptr);
    CHECK(first->enter());
    CHECK(current() == first->native());
  }).join();
  CHECK(current() == second->native());
}

TEST_CASE("entering again costs one call") {
  FakeContext fake;
  const std::uint64_t before = fake.api->calls();
  CHECK(fake.context->enter());
  CHECK(fake.api->calls() == before + 1);
}

TEST_CASE("a released context is entered by nobody, and releasing twice is fine") {
  FakeContext fake;
  fake.context->release();
  CHECK_FALSE(fake.context->enter());
  CUcontext current = fake.context->native();
  CHECK(fake.api->cuCtxGetCurrent(&current) == CUDA_SUCCESS);
  CHECK(current == nullptr);
  fake.context->release();
  CHECK(fake.driver.leaks() == "");
}

TEST_CASE("the last owner releases the context") {
  FakeContext fake;
  CHECK(fake.driver.leaks() == "1 retained contexts");
  fake.context.reset();
  CHECK(fake.driver.leaks() == "");
}

TEST_CASE("a context that cannot be made is an error") {
  FakeDriver driver;
  driver.fail("cuDevicePrimaryCtxRetain", 1, CUDA_ERROR_OUT_OF_MEMORY);
  CHECK_THROWS_AS(Context(driver.api(), 0), DriverError);
  CHECK(driver.leaks() == "");
}

TEST_CASE("once the driver has gone, nothing enters and releasing calls nothing more") {
  FakeContext fake;
  fake.driver.deinitialise();
  CHECK_FALSE(fake.context->enter());
  const std::uint64_t releases = fake.api->cuDevicePrimaryCtxRelease.calls();
  fake.context->release();
  CHECK(fake.api->cuDevicePrimaryCtxRelease.calls() == releases);
}

TEST_CASE("a forked child enters nothing and calls nothing") {
  FakeContext fake;
  const test::Ended ended = test::in_child([&] {
    const std::uint64_t before = fake.api->calls();
    const bool entered = fake.context->enter();
    fake.context->release();
    return entered || fake.api->calls() != before ? 1 : 0;
  });
  CHECK(ended.code == 0);
}

TEST_CASE("in relaxed mode a thread's queries end no capture, and the mode comes back") {
  FakeContext fake;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  REQUIRE(fake.api->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  REQUIRE(fake.api->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
  REQUIRE(fake.api->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
  {
    const cuda::RelaxedCapture relaxed(*fake.api);
    CHECK(fake.api->cuEventQuery(event) == CUDA_SUCCESS);
  }
  CHECK(fake.api->cuEventQuery(event) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}
