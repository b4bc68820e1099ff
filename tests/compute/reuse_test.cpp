// Values written into the memory of an input that nobody reads again.
#include <utility>

#include "forebay/compute/shaping.hpp"
#include "tests/compute/reuse_cases.hpp"
#include "tests/compute/test_backend.hpp"

using namespace forebay;
using namespace forebay::testing;

namespace {

std::uint64_t allocations(const Host& host) { return host.device.pool().stats().allocations.total; }

}  // namespace

TEST_CASE("the last expression that reads a tensor is written over it") {
  const Host host;
  Tensor a = host.f32({1, 2, 3});
  const void* const memory = a.data();
  const std::uint64_t before = allocations(host);
  const Tensor b = (std::move(a) + 1.0) * 2.0;
  CHECK(b.to_host<float>() == std::vector<float>{4, 6, 8});
  CHECK(b.data() == memory);
  CHECK(allocations(host) == before);
  CHECK(host.fusion().reused.load() == 1);
}

TEMPLATE_TEST_CASE("elements of every size are written over their own", "", double, half,
                   std::uint8_t) {
  const Host host;
  Tensor a = full({100}, 3, host.device, dtype_of<TestType>).eval();
  const Tensor b = std::move(a) * 2;
  CHECK(b.to(DType::f32).sum().item() == 600);
  CHECK(b.dtype() == dtype_of<TestType>);
  Tensor c = full({100}, 3, host.device, dtype_of<TestType>).eval();
  const Tensor d = std::move(c) * 2;
  CHECK(static_cast<float>(d.to_host<TestType>()[99]) == 6);
  CHECK(host.fusion().reused.load() == 2);
}

TEST_CASE("a loop over one tensor allocates once") {
  const Host host;
  Tensor state = host.f32({1, 2, 3});
  const std::uint64_t before = allocations(host);
  for (int i = 0; i < 100; ++i) {
    state = std::move(state) * 0.5 + 1.0;
    state.eval();
  }
  CHECK(allocations(host) == before);
  CHECK(host.fusion().reused.load() == 100);
  CHECK(state.to_host<float>() == std::vector<float>{2, 2, 2});
}

TEST_CASE("10,000 turns of a loop over one tensor and its views leave what four leave") {
  const Host host;
  check_long_loop(host.device, 10'000);
}

TEST_CASE("memory that a view of it still reads is not written over") {
  const Host host;
  check_views_of_given_inputs(host.device);
}

TEST_CASE("a tensor that somebody holds stays as it is") {
  const Host host;
  const Tensor a = host.f32({1, 2, 3});
  SECTION("by its handle") {
    const Tensor b = a + 1.0;
    CHECK(b.to_host<float>() == std::vector<float>{2, 3, 4});
  }
  SECTION("by a view") {
    Tensor c = host.f32({1, 2, 3, 4});
    const Tensor view = c.reshape({2, 2}).transpose();
    const Tensor b = std::move(c) + 1.0;
    CHECK(b.to_host<float>() == std::vector<float>{2, 3, 4, 5});
    CHECK(view.to_host<float>() == std::vector<float>{1, 3, 2, 4});
  }
  SECTION("by another expression") {
    Tensor c = host.f32({1, 2, 3});
    const Tensor later = c * 10.0;
    const Tensor b = std::move(c) + 1.0;
    CHECK(b.to_host<float>() == std::vector<float>{2, 3, 4});
    CHECK(host.fusion().reused.load() == 0);
    CHECK(later.to_host<float>() == std::vector<float>{10, 20, 30});
    CHECK(host.fusion().reused.load() == 1);  // nobody else reads it by now
    return;
  }
  CHECK(a.to_host<float>() == std::vector<float>{1, 2, 3});
  CHECK(host.fusion().reused.load() == 0);
}

TEST_CASE("of several results one takes the memory of an input") {
  const Host host;
  Tensor a = host.f32({1, 2, 3});
  const std::uint64_t before = allocations(host);
  const Tensor b = a + 1.0;
  const Tensor c = b * std::move(a);
  CHECK(c.to_host<float>() == std::vector<float>{2, 6, 12});
  CHECK(b.to_host<float>() == std::vector<float>{2, 3, 4});
  CHECK(host.launches() == 1);
  CHECK(host.fusion().reused.load() == 1);
  CHECK(allocations(host) == before + 1);
}

TEST_CASE("an input of results that do not fit into one launch is read again") {
  const Host host;
  Tensor a = host.f32({1, 2, 3});
  std::vector<Tensor> held;
  held.push_back(std::move(a) + 1.0);
  for (int i = 0; i < 20; ++i) held.push_back(held.front() * static_cast<float>(i) - 1.0);
  Tensor last = held.front();
  for (const Tensor& t : held) last = std::move(last) + t;
  (void)last.eval();
  for (int i = 0; i < 20; ++i) {
    const auto f = static_cast<float>(i);
    CHECK(held[static_cast<std::size_t>(i) + 1].to_host<float>() ==
          std::vector<float>{2 * f - 1, 3 * f - 1, 4 * f - 1});
  }
  CHECK(held.front().to_host<float>() == std::vector<float>{2, 3, 4});
}

TEST_CASE("memory of another type, of another order or read more than once per element is left") {
  const Host host;
  SECTION("type") {
    const Tensor b =
        from_host<std::int32_t>(std::vector<std::int32_t>{1, 2}, {2}, host.device).to(DType::f32);
    CHECK(b.to_host<float>() == std::vector<float>{1, 2});
  }
  SECTION("order") {
    Tensor a = host.f32({1, 2, 3, 4});
    Tensor t = a.reshape({2, 2}).transpose();
    a = Tensor();
    const Tensor b = std::move(t) + 1.0;
    CHECK(b.to_host<float>() == std::vector<float>{2, 4, 3, 5});
  }
  SECTION("part") {
    Tensor a = host.f32({1, 2, 3, 4});
    Tensor part = narrow(a, 0, 2, 2);
    a = Tensor();
    const Tensor b = std::move(part) + 1.0;
    CHECK(b.to_host<float>() == std::vector<float>{4, 5});
  }
  SECTION("type of as many bytes") {
    Tensor a = host.f32({1, 2});
    const Tensor b = std::move(a).to(DType::i32);
    CHECK(b.to_host<std::int32_t>() == std::vector<std::int32_t>{1, 2});
  }
  SECTION("broadcast") {
    Tensor row = host.f32({1, 2});
    const Tensor b = std::move(row) + full({2, 2}, 1.0F, host.device);
    CHECK(b.to_host<float>() == std::vector<float>{2, 3, 2, 3});
  }
  CHECK(host.fusion().reused.load() == 0);
}

TEST_CASE("an expression whose launch failed has not lost its input") {
  ScriptedHost scripted;
  const Host& host = scripted.host;
  Tensor a = host.f32({1, 2, 3});
  const Tensor b = std::move(a) + 1.0;
  scripted.script.fails = true;
  CHECK_THROWS_AS(b.eval(), DriverError);
  scripted.script.fails = false;
  CHECK(b.to_host<float>() == std::vector<float>{2, 3, 4});
}
