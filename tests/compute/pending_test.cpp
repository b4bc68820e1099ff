#include "compute/pending.hpp"

#include <array>
#include <thread>

#include "forebay/compute/graph.hpp"
#include "forebay/compute/in_place.hpp"
#include "forebay/compute/shaping.hpp"
#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::compute;
using namespace forebay::testing;

namespace {

std::vector<std::pair<std::uintptr_t, std::uintptr_t>> pairs(const std::vector<Extent>& extents) {
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> all;
  for (const Extent& extent : extents) all.emplace_back(extent.begin, extent.end);
  return all;
}

std::size_t pending(const Host& host) { return host.engine().pending(); }

}  // namespace

TEST_CASE("an extent goes from the first byte of a view to its last") {
  const Host host;
  const Tensor x = counting(host, {3, 4});
  const auto start = reinterpret_cast<std::uintptr_t>(x.data());
  const auto extent = [&](const Tensor& t) {
    const Extent e = extent_of(*t.node());
    return std::pair(e.begin - start, e.end - start);
  };
  CHECK(extent(x) == std::pair<std::uintptr_t, std::uintptr_t>(0, 48));
  CHECK(extent(narrow(x, 0, 1, 1)) == std::pair<std::uintptr_t, std::uintptr_t>(16, 32));
  CHECK(extent(narrow(x, 1, 1, 2)) == std::pair<std::uintptr_t, std::uintptr_t>(4, 44));
  CHECK(extent(flip(narrow(x, 1, 1, 2), 0)) == std::pair<std::uintptr_t, std::uintptr_t>(4, 44));
  const Extent nothing = extent_of(*narrow(x, 0, 1, 0).node());
  CHECK(nothing.begin == nothing.end);
}

TEST_CASE("extents are merged in the order of addresses") {
  std::vector<Extent> extents{{30, 40}, {5, 5}, {10, 20}, {20, 25}, {32, 35}, {39, 50}};
  merge(extents);
  CHECK(pairs(extents) ==
        std::vector<std::pair<std::uintptr_t, std::uintptr_t>>{{10, 25}, {30, 50}});
}

TEST_CASE("writes touch what lies in their extents, between them nothing") {
  const Host host;
  const Tensor x = counting(host, {10});
  const auto part = [&](std::int64_t first, std::int64_t count) {
    return narrow(x, 0, first, count);
  };
  const std::vector<Extent> extents{extent_of(*part(2, 2).node()), extent_of(*part(6, 1).node())};
  const Writes writes{extents};
  CHECK(writes.touch(*x.node()));
  CHECK(writes.touch(*part(3, 3).node()));
  CHECK(writes.touch(*part(0, 3).node()));
  CHECK_FALSE(writes.touch(*part(0, 2).node()));
  CHECK_FALSE(writes.touch(*part(4, 2).node()));
  CHECK_FALSE(writes.touch(*part(7, 3).node()));
  CHECK_FALSE(writes.touch(*part(2, 0).node()));
  CHECK_FALSE(writes.touch(*(x + 1.0).node()));
}

TEST_CASE("the list holds what is pending now") {
  const Host host;
  const Tensor x = host.f32({1, 2});
  CHECK(pending(host) == 0);
  {
    const Tensor y = x + 1.0;
    Tensor z = y * 2.0 - 1.0;
    CHECK(pending(host) == 3);
    z.eval();
    CHECK(pending(host) == 0);
    z = y + 2.0;
    CHECK(pending(host) == 1);
  }
  CHECK(pending(host) == 0);
  for (int i = 0; i < 1000; ++i) (void)(x * 2.0 + 1.0);
  CHECK(pending(host) == 0);
  Tensor lazy = x * 3.0;
  {
    const Tensor number = zeros({2}, host.device);
    const Tensor part = narrow(number, 0, 1, 1);
    const Tensor above = (x * 4.0 + 1.0) * number;
    const Graph graph = capture(host.device, [&] {
      // What is held is in memory.
      for (const Tensor& held : std::array<Tensor, 4>{lazy, number, part, above}) {
        CHECK(held.node()->is(NodeKind::storage));
      }
      CHECK((x + lazy).node()->is(NodeKind::operation));
    });
    CHECK(pending(host) == 0);
  }
  lazy = x * 3.0;
  CHECK(pending(host) == 1);
  const Tensor of_it = lazy + 1.0;
  add_(x, 1);
  CHECK(lazy.node()->is(NodeKind::operation) == false);
  CHECK(of_it.to_host<float>() == std::vector<float>{4, 7});
  CHECK(pending(host) == 0);
}

TEST_CASE("a capture begins with what is held, repeated numbers in one place") {
  const Host host;
  const Tensor x = host.f32({1, 2});
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;  // elements that would not fit anywhere
  const Tensor number = full({}, 3.0F, host.device);
  const Tensor repeated = number.broadcast_to({kHuge});
  const Tensor alone = full({}, 2.0F, host.device).broadcast_to({kHuge});
  const Tensor part = narrow(zeros({kHuge}, host.device), 0, 5, 2);
  const Tensor deep = ((x + 1.0) * 2.0 - 1.0) / 4.0;
  const auto allocated = [&] { return host.device.pool().stats().allocations.total; };
  const std::uint64_t before = allocated();
  Tensor out;
  const Graph graph = capture(host.device, [&] {
    CHECK(allocated() == before + 4);  // number, what is alone, part, deep
    out = (narrow(repeated, 0, 7, 2) + narrow(alone, 0, 9, 2) + part).eval();
  });
  fill_(number, 10.0F);
  fill_(part, 100.0F);
  graph.replay();
  CHECK(out.to_host<float>() == std::vector<float>{112, 112});
}

TEST_CASE("nodes that go while another thread has the engine are freed by its next call") {
  const Host host;
  const Tensor x = host.f32({1, 2});
  Tensor y = x + 1.0;
  {
    const std::lock_guard lock(host.engine().mutex());
    std::thread([&] { y = Tensor(); }).join();
  }
  CHECK(pending(host) == 0);
}

TEST_CASE("what outlives its device goes without it") {
  Tensor kept;
  {
    const Host host;
    kept = host.f32({1, 2}) + 1.0;
  }
  CHECK_THROWS_AS(kept.eval(), ClosedError);
  kept = Tensor();
}

TEST_CASE("many pending values go at once, on a small stack") {
  const Host host;
  on_small_stack([&] {
    const Tensor x = host.f32({1, 2});
    std::vector<Tensor> all;
    Tensor sum = x + 1.0;
    for (int i = 0; i < 100'000; ++i) all.push_back(x * static_cast<double>(i));
    CHECK(pending(host) == 100'001);
    all.clear();
    CHECK(pending(host) == 1);
    add_(x, 1);
    CHECK(sum.to_host<float>() == std::vector<float>{2, 3});
  });
}
