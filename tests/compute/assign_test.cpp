// Writes in place, on the host and interpreted: what is pending keeps its value, and the usual
// update stays one launch.
#include <atomic>
#include <thread>

#include "forebay/compute/dlpack.hpp"
#include "tests/compute/in_place_cases.hpp"
#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::testing;

namespace {

Config cut_after(std::uint32_t operations) {
  Config config;
  config.fusion.max_ops = operations;
  return config;
}

std::uint64_t taken(const Host& host) { return host.device.pool().stats().allocations.total; }

}  // namespace

TEST_CASE("what is pending sees the values from before a write in place") {
  for (const std::uint32_t operations : {256U, 2U, 1U}) {
    INFO("at most " << operations << " operations");
    const Host host(cut_after(operations));
    check_pending_readers(host.device);
    check_held_values(host.device);
  }
}

TEST_CASE("what a graph writes is written in each replay") {
  const Host host;
  check_pending_readers_of_graphs(host.device);
}

TEST_CASE("random writes in place agree with a model that does everything at once") {
  for (const std::uint32_t operations : {256U, 3U, 1U}) {
    INFO("at most " << operations << " operations");
    const Host host(cut_after(operations));
    check_in_place_games(host.device, 1, 300);
  }
}

TEST_CASE("an update in place is one launch without memory of its own") {
  const Host host;
  const Tensor p = host.f32({1, 2, 3});
  const Tensor g = host.f32({10, 20, 30});
  std::uint64_t launches = host.launches();
  std::uint64_t allocations = taken(host);
  assign(p, p - g * 0.5);
  assign(p, p * 2.0 + p);
  CHECK(host.launches() - launches == 2);
  CHECK(taken(host) == allocations);
  CHECK(p.to_host<float>() == std::vector<float>{-12, -24, -36});

  // What is pending beside it and reads something else, or another part, stays pending.
  const Tensor other = g + 1.0;
  const Tensor wide = host.f32({1, 2, 3, 4});
  const Tensor tail = narrow(wide, 0, 2, 2) + 1.0;
  launches = host.launches();
  allocations = taken(host);
  assign(p, p - g);
  add_(narrow(wide, 0, 0, 2), 1);
  CHECK(host.launches() - launches == 2);
  CHECK(taken(host) == allocations);
  CHECK(tail.to_host<float>() == std::vector<float>{4, 5});

  // Readers take a launch together, and what is computed of them none.
  const Tensor first = p * 2.0;
  const Tensor second = p * 3.0;
  const Tensor third = first + 1.0;
  launches = host.launches();
  assign(p, p + g);
  CHECK(host.launches() - launches == 2);
  CHECK(first.to_host<float>() == std::vector<float>{-44, -88, -132});
  CHECK(second.to_host<float>() == std::vector<float>{-66, -132, -198});
  CHECK(host.launches() - launches == 2);
  CHECK(third.to_host<float>() == std::vector<float>{-43, -87, -131});

  // A part of the value that somebody holds comes with the same launch.
  const Tensor inner = p + 1.0;
  launches = host.launches();
  assign(p, inner * inner);
  CHECK(host.launches() - launches == 1);
  CHECK(inner.to_host<float>() == std::vector<float>{-11, -23, -35});
  CHECK(p.to_host<float>() == std::vector<float>{121, 529, 1225});
}

TEST_CASE("a value that reads nothing of the target stays an expression") {
  const Host host;
  const Tensor t = host.f32({1, 2});
  const Tensor x = host.f32({3, 4});
  const Tensor v = x * 2.0;
  const std::uint64_t launches = host.launches();
  assign(t, v);
  CHECK(host.launches() - launches == 1);
  CHECK(v.node()->is(compute::NodeKind::operation));
  add_(x, 1);
  CHECK(v.to_host<float>() == std::vector<float>{6, 8});
}

TEST_CASE("a value is given away only by who does not see it again") {
  const Host host;
  const Tensor t = host.f32({1, 2});
  CHECK_THROWS_AS(assign(t, host.f32({1, 2, 3})), ShapeError);
  Tensor v = t + 1.0;
  const Tensor same = v;
  assign(t, std::move(v));
  CHECK(same.to_host<float>() == std::vector<float>{2, 3});
  CHECK(t.to_host<float>() == std::vector<float>{2, 3});
}

TEST_CASE("memory that two imports share is the same memory") {
  const Host host;
  const Tensor x = host.f32({1, 2, 3});
  const Tensor alias = from_dlpack(to_dlpack(x), host.device);
  const Tensor reader = alias * 2.0;
  const Tensor back = flip(alias, 0);
  add_(x, 1);
  CHECK(reader.to_host<float>() == std::vector<float>{2, 4, 6});
  assign(x, back * 1.0);
  CHECK(alias.to_host<float>() == std::vector<float>{4, 3, 2});
  assign(narrow(x, 0, 1, 2), narrow(alias, 0, 0, 2));
  CHECK(x.to_host<float>() == std::vector<float>{4, 4, 3});
  assign(x, alias);
  CHECK(x.to_host<float>() == std::vector<float>{4, 4, 3});
}

TEST_CASE("kernels that write are told of by hand") {
  const Host host;
  const Tensor t = host.f32({1, 2});
  const Tensor u = t + 1.0;
  const Tensor reader = t * 2.0;
  const Tensor of_lazy = u * 10.0;
  const std::array both{t, u};
  {
    const auto lock = compute::lock_backend(host.device);
    compute::will_write(both);
    compute::will_write({});
    for (const Tensor& tensor : both) static_cast<float*>(tensor.data())[0] = 50;
  }
  CHECK(reader.to_host<float>() == std::vector<float>{2, 4});
  CHECK(of_lazy.to_host<float>() == std::vector<float>{20, 30});
  CHECK(t.to_host<float>() == std::vector<float>{50, 2});
}

TEST_CASE("a tensor that is given away to itself stays as it is") {
  const Host host;
  Tensor x = host.f32({1, 2, 3});
  Tensor& same = x;
  assign(x, std::move(same));
  CHECK(x.to_host<float>() == std::vector<float>{1, 2, 3});
}

TEST_CASE("readers come and go on other threads while one writes") {
  const Host host;
  const Tensor x = host.f32({0, 0, 0, 0});
  constexpr int kRounds = 500;
  std::atomic<bool> right{true};
  std::vector<std::thread> threads;
  for (int k = 0; k < 3; ++k) {
    threads.emplace_back([&right, mine = Tensor(x)] {
      for (int i = 0; i < kRounds; ++i) {
        const Tensor dropped = mine * 2.0 + 1.0;
        const Tensor other = mine * 3.0;
        if (i % 10 != 0) continue;
        // Written as a whole, whenever that was.
        const std::vector<float> seen = (other - mine * 3.0).to_host<float>();
        const std::vector<float> values = other.to_host<float>();
        for (const float value : values) right = right && value == values.front();
      }
    });
  }
  for (int i = 0; i < kRounds; ++i) add_(x, 1);
  for (std::thread& thread : threads) thread.join();
  CHECK(right);
  CHECK(x.to_host<float>() == std::vector<float>(4, kRounds));
}
