// Tests that need a CUDA device are skipped without one, and fail where one is promised.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "forebay/runtime/config.hpp"
#include "runtime/cuda/cuda_platform.hpp"
#include "tests/support/catch.hpp"

namespace forebay::test {

inline constexpr std::size_t kMiB = std::size_t{1} << 20;

/// Why no CUDA device can be used here; empty if one can.
[[nodiscard]] inline std::string why_no_device() {
  std::string why;
  for (const DeviceReport& report : cuda::list_devices()) {
    if (report.usable) {
      return "";
    }
    why += (why.empty() ? "" : "; ") + report.id + ": " + report.detail;
  }
  return why;
}

/// Whether the test must return; fails instead where FOREBAY_REQUIRE_GPU=1 promises a device.
[[nodiscard]] inline bool skipped_without_device() {
  const std::string why = why_no_device();
  if (why.empty()) {
    return false;
  }
  const char* required = std::getenv("FOREBAY_REQUIRE_GPU");
  if (required != nullptr && std::string(required) == "1") {
    FAIL("FOREBAY_REQUIRE_GPU=1, but no device can be used: " << why);
  }
  std::printf("SKIPPED: %s\n", why.c_str());
  std::fflush(stdout);
  return true;
}

/// The default configuration; with FOREBAY_TEST_PASSTHROUGH=1 each block of the pools is an
/// allocation of its own, so that a memory checker sees where it ends. No test finds the kernels of
/// another.
[[nodiscard]] inline Config device_config() {
  Config config;
  config.kernels.cache.enabled = false;
  const char* passthrough = std::getenv("FOREBAY_TEST_PASSTHROUGH");
  if (passthrough != nullptr && std::string(passthrough) == "1") {
    config.pool.mode = pool::PoolMode::passthrough;
  }
  return config;
}

}  // namespace forebay::test

/// The first line of a test case that needs a CUDA device.
#define FOREBAY_REQUIRE_DEVICE()                   \
  if (::forebay::test::skipped_without_device()) { \
    return;                                        \
  }
