// Inputs that nobody reads again, seen from another side in the same expression: their memory may
// not be taken while an element is still to be read from elsewhere in it.
#pragma once

#include <utility>
#include <vector>

#include "forebay/compute/in_place.hpp"
#include "forebay/compute/shaping.hpp"
#include "forebay/compute/tensor.hpp"
#include "tests/support/catch.hpp"

namespace forebay::testing {

/// Every kind of view of an input that is given away, alone and beside the input itself.
inline void check_views_of_given_inputs(Device& device) {
  const std::int64_t side = 33;  // rows of several warps, and not of 16 bytes
  std::vector<float> values;
  for (std::int64_t i = 0; i < side * side; ++i) values.push_back(static_cast<float>(i % 1000));
  const auto given = [&] { return from_host<float>(values, {side, side}, device); };
  using Where = std::int64_t (*)(std::int64_t row, std::int64_t column);
  struct Seen {
    const char* name;
    Tensor (*view)(const Tensor& x);
    Where where;  ///< the element of the input that lies there
  };
  const Seen all[] = {{"rows in reverse", [](const Tensor& x) { return flip(x, 0); },
                       [](std::int64_t r, std::int64_t c) { return (32 - r) * 33 + c; }},
                      {"columns in reverse", [](const Tensor& x) { return flip(x, 1); },
                       [](std::int64_t r, std::int64_t c) { return r * 33 + 32 - c; }},
                      {"both", [](const Tensor& x) { return flip(flip(x, 0), 1); },
                       [](std::int64_t r, std::int64_t c) { return (32 - r) * 33 + 32 - c; }},
                      {"turned", [](const Tensor& x) { return x.transpose(); },
                       [](std::int64_t r, std::int64_t c) { return c * 33 + r; }},
                      {"its first row, repeated",
                       [](const Tensor& x) {
                         return narrow(x, 0, 0, 1).broadcast_to({33, 33});
                       },
                       [](std::int64_t, std::int64_t c) { return c; }},
                      {"itself, flat and back",
                       [](const Tensor& x) {
                         return x.reshape({33 * 33}).reshape({33, 33});
                       },
                       [](std::int64_t r, std::int64_t c) { return r * 33 + c; }}};
  for (const Seen& seen : all) {
    INFO(seen.name << " on " << device.id());
    const auto check = [&](const Tensor& result, float own) {
      const std::vector<float> got = result.to_host<float>();
      for (std::int64_t i = 0; i < side * side; ++i) {
        const float other = values[static_cast<std::size_t>(seen.where(i / side, i % side))];
        REQUIRE(got[static_cast<std::size_t>(i)] ==
                own * values[static_cast<std::size_t>(i)] + other + 1);
      }
    };
    {
      Tensor x = given();
      Tensor view = seen.view(x);
      x = {};
      check(std::move(view) + 1.0F, 0);
    }
    {
      Tensor x = given();
      Tensor view = seen.view(x);
      check(std::move(x) + std::move(view) + 1.0F, 1);
    }
    {
      Tensor x = given();
      Tensor view = seen.view(x);
      Tensor sum = std::move(view) + std::move(x) * 2.0F;
      sum = std::move(sum) + 1.0F;
      check(sum, 2);
    }
    {
      // Named as the target.
      const Tensor x = given();
      assign(x, x + seen.view(x) + 1.0F);
      check(x, 1);
    }
  }
}

/// A long loop over one tensor, its views and a sum of it: memory, programs and launches per turn
/// stay what they were.
inline void check_long_loop(Device& device, int turns) {
  Tensor state = from_host<float>(std::vector<float>{1, 2, 3, 4}, {2, 2}, device);
  const auto turn = [&] {
    state = (std::move(state) * 0.5F + 1.0F).eval();
    state = (state.transpose() + flip(state, 0) * 0.0F).eval();
    mul_(state, 1.0F);
  };
  for (int i = 0; i < 4; ++i) turn();
  device.synchronize();
  const auto& fusion = device.counters().fusion;
  const auto pool = device.pool().stats();
  const std::uint64_t programs = fusion.programs;
  const std::uint64_t launches = fusion.launches;
  const std::uint64_t reused = fusion.reused;
  for (int i = 4; i < turns; ++i) turn();
  device.synchronize();
  const auto after = device.pool().stats();
  const auto times = static_cast<std::uint64_t>(turns - 4);
  CHECK(after.allocations.live == pool.allocations.live);
  CHECK(after.requested.current == pool.requested.current);
  CHECK(after.held.current == pool.held.current);
  CHECK(after.driver_calls() == pool.driver_calls());
  CHECK(fusion.programs == programs);
  CHECK(fusion.launches == launches + 3 * times);
  CHECK(fusion.reused == reused + times);
  CHECK(state.to_host<float>() == std::vector<float>{2, 2, 2, 2});
}

}  // namespace forebay::testing
