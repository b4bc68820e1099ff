#include "forebay/compute/tensor.hpp"

#include <limits>

#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::compute;
using namespace forebay::testing;

TEST_CASE("a tensor tells its shape, type and device") {
  const Host host;
  const Tensor t = host.i32({1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK(t.defined());
  CHECK(t.shape() == Dims{2, 3});
  CHECK(t.rank() == 2);
  CHECK(t.numel() == 6);
  CHECK(t.dtype() == DType::i32);
  CHECK(&t.device() == &host.device);
}

TEST_CASE("a tensor that was never given a value says so") {
  const Tensor none;
  CHECK_FALSE(none.defined());
  CHECK_THROWS_AS(none.shape(), ShapeError);
  CHECK_THROWS_AS(none + 1.0, ShapeError);
  CHECK_THROWS_AS(none.sum(), ShapeError);
  CHECK_THROWS_AS(none.eval(), ShapeError);
  CHECK_THROWS_AS(none.detach(), ShapeError);
  const Host host;
  const Tensor t = host.f32({1});
  CHECK_THROWS_AS(t + none, ShapeError);
  CHECK_THROWS_AS(matmul(none, t), ShapeError);
}

TEST_CASE("an item is converted to the type that was asked for") {
  const Host host;
  CHECK(host.f32({2.5F}).item() == 2.5F);
  CHECK(host.f32({2.5F}).item<std::int32_t>() == 2);
  CHECK(host.i32({-7}).item() == -7.0F);
  CHECK(host.i32({-7}).item<std::int32_t>() == -7);
  CHECK(host.f32({std::numeric_limits<float>::quiet_NaN()}).item<std::int32_t>() == 0);
  CHECK(full({1, 1}, 3.0F, host.device).item() == 3);
  CHECK(full(Dims(), 3.0F, host.device).item() == 3);
  const std::string message = message_of<ShapeError>([&] { (void)host.f32({1, 2}).item(); });
  CHECK(contains(message, "[2]"));
  CHECK_THROWS_AS(zeros({0}, host.device).item(), ShapeError);
}

TEST_CASE("elements come back in row-major order and in the tensor's type only") {
  const Host host;
  const Tensor t = host.f32({1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK(t.to_host<float>() == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(t.transpose().to_host<float>() == std::vector<float>{1, 4, 2, 5, 3, 6});
  const std::string message = message_of<ShapeError>([&] { (void)t.to_host<std::int32_t>(); });
  CHECK(contains(message, "i32"));
  CHECK(contains(message, "f32"));
  std::vector<float> five(5);
  CHECK_THROWS_AS(t.copy_to_host(std::span(five)), ShapeError);
  std::vector<float> six(6);
  t.copy_to_host(std::span(six));
  CHECK(six == std::vector<float>{1, 2, 3, 4, 5, 6});
}

// The sanitizers end a process that asks for so much.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("more elements than the host has memory for are refused") {
  const Host host;
  constexpr std::int64_t kHuge = std::int64_t{1} << 58;
  CHECK(message_of<OutOfMemory>([&] { (void)full({kHuge}, 1.0F, host.device).to_host<float>(); }) ==
        "to_host: no host memory for the 1152921504606846976 bytes of f32 "
        "[288230376151711744] on host");
  CHECK_THROWS_AS((host.f32({1}).broadcast_to({kHuge}).to_host<float>()), OutOfMemory);
  CHECK_THROWS_AS((full({kHuge}, true, host.device).to_host<bool>()), OutOfMemory);
}
#endif

TEST_CASE("data is contiguous, and stays where it is") {
  const Host host;
  const Tensor t = host.f32({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor turned = t.transpose();
  const auto* const data = static_cast<const float*>(turned.data());
  CHECK(std::vector<float>(data, data + 6) == std::vector<float>{1, 4, 2, 5, 3, 6});
  CHECK(turned.data() == data);
  CHECK(turned.to_host<float>() == std::vector<float>{1, 4, 2, 5, 3, 6});
  CHECK(t.data() != data);
  const Tensor lazy = t + 1.0;
  CHECK(*static_cast<const float*>(lazy.data()) == 2);
  CHECK(zeros({0, 3}, host.device).data() == nullptr);
}

TEST_CASE("copies and detached tensors mean the same value") {
  const Host host;
  const Tensor t = host.f32({1, 2}) + 1.0;
  const Tensor copy = t;
  const Tensor detached = t.detach();
  CHECK(copy.data() == t.data());
  CHECK(detached.data() == t.data());
  CHECK(host.launches() == 1);
}

TEST_CASE("assigning overwrites in place, whoever shares the storage") {
  const Host host;
  const Tensor target = host.f32({1, 2, 3, 4}, {2, 2});
  const Tensor view = target.reshape({4});
  const void* const address = target.data();
  const auto allocations = [&] { return host.device.pool().stats().allocations.total; };
  SECTION("an expression, in one launch") {
    const Tensor value = full({2, 2}, 10.0F, host.device) + counting(host, {2, 2});
    const auto before = allocations();
    assign(target, value);
    CHECK(allocations() == before);
    CHECK(host.launches() == 1);
    CHECK(view.to_host<float>() == std::vector<float>{10, 11, 12, 13});
  }
  SECTION("an expression of its own old value") {
    assign(target, target * 2.0 + target);
    CHECK(view.to_host<float>() == std::vector<float>{3, 6, 9, 12});
    const Tensor twice = target * 2.0;
    const Tensor more = twice + target;  // reads the old value after the first step
    assign(target, more);
    CHECK(view.to_host<float>() == std::vector<float>{9, 18, 27, 36});
    CHECK(twice.to_host<float>() == std::vector<float>{6, 12, 18, 24});
  }
  SECTION("an intermediate value of which somebody holds a part") {
    const Tensor held = target + 1.0;
    const Tensor value = held * target;
    assign(target, value);
    CHECK(view.to_host<float>() == std::vector<float>{2, 6, 12, 20});
    CHECK(held.to_host<float>() == std::vector<float>{2, 3, 4, 5});
  }
  SECTION("its own transpose") {
    assign(target, target.transpose() + target);
    CHECK(view.to_host<float>() == std::vector<float>{2, 5, 5, 8});
    assign(target, host.f32({1, 2, 3, 4}, {2, 2}));
    assign(target, target.transpose());
    CHECK(view.to_host<float>() == std::vector<float>{1, 3, 2, 4});
    // So large that parts are written before others are read.
    const Tensor large = counting(host, {100, 100});
    assign(large, large.transpose() * 1.0);
    const auto turned = large.to_host<float>();
    for (std::size_t i = 0; i < 100; ++i) {
      for (std::size_t j = 0; j < 100; ++j) {
        REQUIRE(turned[i * 100 + j] == static_cast<float>(j * 100 + i));
      }
    }
  }
  SECTION("storage, itself, a constant, a broadcast view") {
    assign(target, host.f32({5, 6, 7, 8}, {2, 2}));
    CHECK(view.to_host<float>() == std::vector<float>{5, 6, 7, 8});
    assign(target, target);
    CHECK(view.to_host<float>() == std::vector<float>{5, 6, 7, 8});
    assign(target, full({2, 2}, 9.0F, host.device));
    CHECK(view.to_host<float>() == std::vector<float>{9, 9, 9, 9});
    assign(target, host.f32({1, 2}).broadcast_to({2, 2}));
    CHECK(view.to_host<float>() == std::vector<float>{1, 2, 1, 2});
  }
  CHECK(target.data() == address);
}

TEST_CASE("assigning checks what does not fit") {
  const Host host;
  const Tensor target = host.f32({1, 2, 3, 4}, {2, 2});
  const std::string message =
      message_of<ShapeError>([&] { assign(target, zeros({4}, host.device)); });
  CHECK(contains(message, "[2, 2]"));
  CHECK(contains(message, "[4]"));
  CHECK_THROWS_AS(assign(target, zeros({2, 2}, host.device, DType::i32)), ShapeError);
  CHECK_THROWS_AS(assign(target.transpose(), zeros({4}, host.device)), ShapeError);
  const Host other;
  CHECK_THROWS_AS(assign(target, zeros({2, 2}, other.device)), ShapeError);
  assign(zeros({0}, host.device), zeros({0}, host.device));
  const Tensor lazy = zeros({2}, host.device);
  assign(lazy, host.f32({1, 2}));
  CHECK(lazy.to_host<float>() == std::vector<float>{1, 2});
}

TEST_CASE("tensors of different devices do not mix") {
  const Host host;
  const Host other;
  const Tensor a = host.f32({1, 2});
  const Tensor b = other.f32({1, 2});
  CHECK_THROWS_AS(a + b, ShapeError);
  CHECK_THROWS_AS(matmul(a.reshape({1, 2}), b.reshape({2, 1})), ShapeError);
}

TEST_CASE("after its runtime has closed a tensor throws and dies in silence") {
  Runtime runtime = Runtime::create();
  Device& device = runtime.device("host");
  const auto shell = device.shared_from_this();
  const std::vector<float> values{1, 2, 3, 4};
  Tensor t = from_host<float>(values, {2, 2}, device);
  Tensor lazy = t + 1.0;
  Tensor view = t.transpose();
  runtime.close();
  CHECK(t.shape() == Dims{2, 2});
  CHECK(contains(message_of<ClosedError>([&] { (void)t.to_host<float>(); }), "host"));
  CHECK_THROWS_AS(lazy.eval(), ClosedError);
  CHECK_THROWS_AS(lazy.item(), ShapeError);
  CHECK_THROWS_AS(lazy.sum(), ClosedError);
  CHECK_THROWS_AS(t + 1.0, ClosedError);
  CHECK_THROWS_AS(t + t, ClosedError);
  CHECK_THROWS_AS(exp(t), ClosedError);
  CHECK_THROWS_AS(matmul(t, t), ClosedError);
  CHECK_THROWS_AS(t.reshape({4}), ClosedError);
  CHECK_THROWS_AS(t.transpose(), ClosedError);
  CHECK_THROWS_AS(t.broadcast_to({2, 2, 2}), ClosedError);
  CHECK_THROWS_AS(t.data(), ClosedError);
  CHECK_THROWS_AS(assign(t, t), ClosedError);
  CHECK_THROWS_AS(eval(std::vector<Tensor>{t}), ClosedError);
  CHECK_THROWS_AS(zeros({2}, device), ClosedError);
  CHECK_THROWS_AS(empty({2}, device), ClosedError);
  CHECK_THROWS_AS(random_uniform({2}, 1, device), ClosedError);
  const auto errors = device.pool().stats().errors.pool_closed;
  t = lazy = view = Tensor();
  CHECK(device.pool().stats().errors.pool_closed == errors);
}
