// What the tests of compute share: a host device, tensors from lists, messages of exceptions.
#pragma once

#include <pthread.h>

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "compute/engine.hpp"
#include "forebay/compute/tensor.hpp"
#include "forebay/runtime/runtime.hpp"
#include "tests/support/catch.hpp"

namespace forebay::testing {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// A runtime of its own with its host device.
struct Host {
  Runtime runtime;
  Device& device;

  explicit Host(const Config& config = {})
      : runtime(Runtime::create(config)), device(runtime.device("host")) {}

  [[nodiscard]] compute::Engine& engine() const { return compute::Engine::of(device); }
  [[nodiscard]] FusionCounters& fusion() const { return device.counters().fusion; }
  [[nodiscard]] std::uint64_t launches() const { return fusion().launches.load(); }

  [[nodiscard]] Tensor f32(const std::vector<float>& values, const Dims& shape) const {
    return from_host<float>(values, shape, device);
  }
  [[nodiscard]] Tensor i32(const std::vector<std::int32_t>& values, const Dims& shape) const {
    return from_host<std::int32_t>(values, shape, device);
  }
  [[nodiscard]] Tensor f32(const std::vector<float>& values) const {
    return f32(values, {static_cast<std::int64_t>(values.size())});
  }
  [[nodiscard]] Tensor i32(const std::vector<std::int32_t>& values) const {
    return i32(values, {static_cast<std::int64_t>(values.size())});
  }
};

/// first, first + step … in `shape`, as f32 on the host.
inline Tensor counting(const Host& host, const Dims& shape, float first = 0, float step = 1) {
  std::vector<float> values(static_cast<std::size_t>(checked_numel(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = first + step * static_cast<float>(i);
  return host.f32(values, shape);
}

/// Equal bits, or both NaN.
inline bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}
inline bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}
template <std::integral T>
bool same(T a, T b) {
  return a == b;
}

template <typename T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!same(static_cast<T>(a[i]), static_cast<T>(b[i]))) {
      UNSCOPED_INFO("element " << i << ": " << a[i] << " against " << b[i]);
      return false;
    }
  }
  return true;
}

/// The message of the `E` that `call` throws; empty if it throws none.
template <typename E>
std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const E& error) {
    return error.what();
  }
  return {};
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Runs `work` on a thread with a stack of 256 KiB: recursion of a few thousand calls ends it.
inline void on_small_stack(const std::function<void()>& work) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  REQUIRE(pthread_attr_setstacksize(&attributes, std::size_t{256} << 10) == 0);
  pthread_t thread{};
  const auto start = [](void* argument) -> void* {
    (*static_cast<const std::function<void()>*>(argument))();
    return nullptr;
  };
  std::function<void()> copy = work;
  REQUIRE(pthread_create(&thread, &attributes, start, &copy) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace forebay::testing
