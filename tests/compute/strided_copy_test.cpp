// Writes through views with strides, on the host and interpreted.
#include "compute/strided_copy.hpp"

#include "tests/compute/strided_cases.hpp"
#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::testing;

TEST_CASE("writes go through views with strides, in every type") {
  const Host host;
  check_strided_writes(host.device);
}

TEST_CASE("writes to a view see the values from before, where they overlap too") {
  const Host host;
  check_overlapping_writes(host.device);
}

TEST_CASE("views whose elements share memory are no targets, and empty ones cost nothing") {
  const Host host;
  check_refused_writes(host.device);
}

TEST_CASE("numbers that are not stored yet are shared with their views") {
  const Host host;
  check_constant_views(host.device);
}

TEST_CASE("graphs write through views with strides") {
  const Host host;
  check_strided_writes_replay(host.device);
}

TEST_CASE("to fill a view takes memory for one element, and storage is copied without a detour") {
  Config config;
  config.pool.capacity = std::size_t{16} << 20;
  const Host host(config);
  const Tensor a = zeros({1024, 1536}, host.device).eval();  // 6 MiB
  const Tensor b = full({1536, 1024}, 2.0F, host.device).eval();
  fill_(a.transpose(), 3);
  CHECK(a.sum().item() == 3.0F * 1024 * 1536);
  assign(a.transpose(), b);
  CHECK(a.sum().item() == 2.0F * 1024 * 1536);
  CHECK_THROWS_AS(add_(a.transpose(), b), OutOfMemory);
  CHECK(a.sum().item() == 2.0F * 1024 * 1536);
}

TEST_CASE("a value that was written through a view stays what it was") {
  const Host host;
  const Tensor x = host.f32({1, 2, 3, 4}, {2, 2});
  const Tensor column = narrow(x, 1, 0, 1);
  const Tensor value = column * 10.0;
  assign(column, value);
  assign(column, value);
  CHECK(x.to_host<float>() == std::vector<float>{10, 2, 30, 4});
  CHECK(value.to_host<float>() == std::vector<float>{10, 30});
}
