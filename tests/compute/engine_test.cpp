#include "compute/engine.hpp"

#include <functional>
#include <thread>
#include <utility>

#include "forebay/compute/graph.hpp"
#include "forebay/compute/normalize.hpp"
#include "forebay/compute/shaping.hpp"
#include "tests/compute/test_backend.hpp"

using namespace forebay;
using namespace forebay::compute;
using namespace forebay::testing;

TEST_CASE("a chain of a million nodes beyond every limit is evaluated on a small stack") {
  const Host host;
  std::vector<float> result;
  std::uint64_t operations = 0;
  on_small_stack([&] {
    NodeRef node = host.f32({0, 1}).node();
    const NodeRef one = full({2}, 1.0F, host.device).node();
    for (int i = 0; i < 1'000'000; ++i) {  // below the limits' notice
      std::array<NodeRef, 2> operands{std::move(node), one};
      node = Node::operation(Op::add, DType::f32, Dims{2}, operands);
    }
    const Tensor t{std::move(node)};
    result = t.to_host<float>();
    operations = host.fusion().operations.load();
  });
  CHECK(result == std::vector<float>{1'000'000, 1'000'001});
  CHECK(operations == 1'000'000);
  CHECK(host.launches() < 20'000);
}

TEST_CASE("a chain of a million operations is built, evaluated and dropped on a small stack") {
  const Host host;
  std::vector<float> result;
  on_small_stack([&] {
    Tensor t = host.f32({0, 1});
    for (int i = 0; i < 1'000'000; ++i) t = std::move(t) + 1.0;
    result = t.to_host<float>();
  });
  CHECK(result == std::vector<float>{1'000'000, 1'000'001});
  CHECK(host.fusion().programs.load() <= 2);
}

TEST_CASE("a number beside tensors is shared while it is a number") {
  const Host host;
  Engine& engine = host.engine();
  const NodeRef one = engine.scalar(DType::f32, std::bit_cast<std::uint32_t>(1.0F));
  const auto again = [&](DType type, float value) {
    return engine.scalar(type, std::bit_cast<std::uint32_t>(value)).get();
  };
  CHECK(again(DType::f32, 1.0F) == one.get());
  CHECK(again(DType::i32, 1.0F) != one.get());
  CHECK(again(DType::f32, 2.0F) != one.get());
  const std::uint32_t owners = one->owners();
  const Tensor sum = host.f32({1, 2}) + 1.0F;
  CHECK(one->owners() == owners + 1);
  CHECK(sum.to_host<float>() == std::vector<float>{2, 3});
  CHECK(one->owners() == owners);

  const NodeRef seven = engine.scalar(DType::f32, std::bit_cast<std::uint32_t>(7.0F));
  engine.evaluate(seven, kEndRead);
  CHECK(again(DType::f32, 7.0F) != seven.get());
  CHECK((host.f32({1}) + 7.0F).item() == 8);
}

TEST_CASE("intermediate values that are held cost no further launch") {
  const Host host;
  const Tensor a = host.f32({1, 2, 3});
  const Tensor x = a + 1.0;
  const Tensor y = x * 2.0;
  const Tensor z = y - 3.0;
  CHECK(z.to_host<float>() == std::vector<float>{1, 3, 5});
  CHECK(host.launches() == 1);
  CHECK(x.to_host<float>() == std::vector<float>{2, 3, 4});
  CHECK(y.to_host<float>() == std::vector<float>{4, 6, 8});
  CHECK(host.launches() == 1);
}

TEST_CASE("evaluating twice launches once") {
  const Host host;
  const Tensor t = host.f32({1, 2}) + 1.0;
  t.eval();
  t.eval();
  CHECK(host.launches() == 1);
  CHECK(host.fusion().ends.read.load() == 1);
}

TEST_CASE("several tensors of one shape share a launch") {
  const Host host;
  const Tensor a = host.f32({1, 2, 3});
  const Tensor wide = host.f32({1, 2, 3, 4});
  std::vector<Tensor> tensors;
  for (int i = 0; i < 5; ++i) tensors.push_back(a + static_cast<float>(i));
  for (int i = 0; i < 3; ++i) tensors.push_back(wide * static_cast<float>(i));
  tensors.push_back(tensors[0]);
  tensors.push_back(a);
  tensors.push_back(zeros({0}, host.device));
  eval(tensors);
  CHECK(host.launches() == 2);
  CHECK(tensors[4].to_host<float>() == std::vector<float>{5, 6, 7});
  CHECK(tensors[7].to_host<float>() == std::vector<float>{2, 4, 6, 8});
  CHECK(host.launches() == 2);
}

TEST_CASE("tensors that do not fit into one program are evaluated all the same") {
  Config config;
  config.fusion.max_ops = 6;
  const Host host(config);
  const Tensor a = host.f32({1, 2});
  std::vector<Tensor> tensors;
  for (int i = 0; i < 20; ++i) {
    tensors.push_back(((a + static_cast<float>(i)) * 2.0) - 1.0);
  }
  tensors.push_back(full({2}, 3.0F, host.device));
  tensors.push_back(full({2}, 3.0F, host.device));
  eval(tensors);
  const std::uint64_t launches = host.launches();
  for (int i = 0; i < 20; ++i) {
    const auto f = static_cast<float>(i);
    CHECK(tensors[static_cast<std::size_t>(i)].to_host<float>() ==
          std::vector<float>{(1 + f) * 2 - 1, (2 + f) * 2 - 1});
  }
  CHECK(tensors[20].to_host<float>() == std::vector<float>{3, 3});
  CHECK(tensors[21].to_host<float>() == std::vector<float>{3, 3});
  CHECK(host.launches() == launches);
}

TEST_CASE("an expression that outgrew the limits after it was built is split") {
  const Host host;
  // Forty random nodes need no leaf until somebody stores them: then they need forty.
  std::vector<Tensor> random;
  for (std::uint64_t i = 0; i < 40; ++i) random.push_back(random_uniform({64}, i, host.device));
  std::vector<Tensor> level = random;
  while (level.size() > 1) {
    std::vector<Tensor> next;
    for (std::size_t i = 0; i + 1 < level.size(); i += 2) next.push_back(level[i] + level[i + 1]);
    if (level.size() % 2 == 1) next.push_back(level.back());
    level = std::move(next);
  }
  for (const Tensor& t : random) t.eval();
  std::vector<double> expected(64, 0.0);
  for (const Tensor& t : random) {
    const auto values = t.to_host<float>();
    for (std::size_t i = 0; i < 64; ++i) expected[i] += values[i];
  }
  const auto result = level[0].to_host<float>();
  for (std::size_t i = 0; i < 64; ++i) CHECK(result[i] == Approx(expected[i]).epsilon(1e-6));
  CHECK(host.fusion().ends.max_inputs.load() >= 1);
}

TEST_CASE("the next executor takes what the first is not ready for") {
  const ScriptedHost scripted;
  const Host& host = scripted.host;
  const Tensor a = host.f32({1, 2});
  CHECK((a + 1.0).to_host<float>() == std::vector<float>{2, 3});
  CHECK(ScriptedHost::script.first_runs == 0);
  CHECK(ScriptedHost::script.second_runs == 1);
  ScriptedHost::script.first_is_ready = true;
  CHECK((a + 2.0).to_host<float>() == std::vector<float>{3, 4});
  CHECK(ScriptedHost::script.first_runs == 1);
  CHECK(ScriptedHost::script.second_runs == 1);
}

TEST_CASE("a failed launch changes nothing, and later ones work") {
  const ScriptedHost scripted;
  const Host& host = scripted.host;
  const Tensor a = host.f32({1, 2});
  const Tensor held = a + 1.0;
  const Tensor root = held * 2.0;
  const auto live = [&] { return host.device.pool().stats().allocations.live; };
  const auto before = live();
  ScriptedHost::script.fails = true;
  CHECK_THROWS_AS(root.eval(), DriverError);
  CHECK_THROWS_AS(root.sum(), DriverError);
  CHECK(live() == before);
  CHECK(host.launches() == 0);
  ScriptedHost::script.fails = false;
  CHECK(root.to_host<float>() == std::vector<float>{4, 6});
  CHECK(held.to_host<float>() == std::vector<float>{2, 3});
  CHECK(host.launches() == 1);
}

TEST_CASE("memory that cannot be had leaves expressions as they were") {
  Config config;
  config.pool.capacity = std::size_t{16} << 20;
  config.fusion.pinned_fraction = 1.0;
  const Host host(config);
  const std::int64_t six_mib = (std::int64_t{6} << 20) / 4;
  Tensor a = zeros({six_mib}, host.device).eval();
  Tensor b = zeros({six_mib}, host.device).eval();
  Tensor sum = a + b + 1.0;
  CHECK_THROWS_AS(sum.eval(), OutOfMemory);
  CHECK_THROWS_AS(zeros({six_mib * 4}, host.device).eval(), OutOfMemory);
  // A sum needs no memory for the elements that only it wants.
  CHECK((a + b + 1.0).sum().item() == static_cast<float>(six_mib));
  // Nor does an expression that is the last to read an input.
  b = Tensor();
  a = Tensor();
  CHECK_NOTHROW(sum.eval());
  CHECK(host.fusion().reused.load() == 1);
  CHECK(std::move(sum).sum().item() == static_cast<float>(six_mib));
  CHECK_THROWS_AS(empty({six_mib * 4}, host.device), OutOfMemory);
}

namespace {

// A device that is full but for `room` bytes, and under pressure tries `work`, keeps the message of
// its error, and then makes room.
struct Pressed {
  explicit Pressed(std::size_t room) : room_(room) {
    host.device.pool().add_pressure_callback([this](std::size_t /*bytes*/) -> std::size_t {
      if (!work) return 0;
      const auto tried = std::exchange(work, {});
      message = message_of<Error>(tried);
      const auto freed = static_cast<std::size_t>(ballast.numel()) * sizeof(float);
      ballast = Tensor();
      return freed;
    });
  }
  void fill() {
    const std::size_t bytes = kCapacity - host.device.pool().stats().requested.current - room_;
    ballast = empty({static_cast<std::int64_t>(bytes / sizeof(float))}, host.device);
  }
  static Config config() {
    Config config;
    config.pool.capacity = kCapacity;
    config.fusion.pinned_fraction = 1.0;
    return config;
  }

  static constexpr std::size_t kCapacity = std::size_t{64} << 20;
  Host host{config()};
  std::size_t room_;
  Tensor ballast;
  std::function<void()> work;
  std::string message;
};

}  // namespace

TEST_CASE(
    "a pressure callback in the middle of a launch cannot compute, and the launch ends well") {
  Pressed pressed(std::size_t{1} << 20);
  const Host& host = pressed.host;
  const std::int64_t four_mib = (std::int64_t{4} << 20) / 4;
  const Tensor a = full({2, four_mib / 2}, 3.0F, host.device).eval();
  const Tensor small = host.f32({1, 2, 3});
  const Tensor other = small * 7.0;
  const std::vector<std::function<void()>> tries{
      [&] { other.eval(); },
      [&] {
        eval(std::vector<Tensor>{other, small + 1.0});
      },
      [&] { (void)(small + 2.0); },
      [&] { (void)small.sum(); },
      [&] { (void)other.to_host<float>(); },
      [&] {
        (void)small.reshape({3, 1}).transpose().data();
      },
      [&] { assign(small, small * 2.0); },
      [&] {
        (void)matmul(small.reshape({1, 3}), small.reshape({3, 1}));
      },
      [&] { (void)softmax(small, 0); },
  };
  const std::string refused =
      "a tensor of host is computed inside of a pressure callback, which other work of the device "
      "waits for; it may only let go of tensors";
  for (std::size_t i = 0; i < tries.size(); ++i) {
    INFO("try " << i);
    pressed.fill();
    pressed.work = tries[i];
    const Tensor held = a + 1.0;
    const Tensor root = (held * 2.0).eval();
    CHECK_FALSE(pressed.work);
    // What needs no value is done.
    CHECK(pressed.message == (i == 5 ? "" : refused));
    CHECK(narrow(root, 1, 5, 2).to_host<float>() == std::vector<float>{8, 8, 8, 8});
    CHECK(narrow(held, 1, 7, 1).to_host<float>() == std::vector<float>{4, 4});
  }
  CHECK(other.to_host<float>() == std::vector<float>{7, 14, 21});
  // Where the callback does not catch, it is the launch that fails, and later ones work.
  pressed.fill();
  host.device.pool().add_pressure_callback([&](std::size_t /*bytes*/) -> std::size_t {
    if (pressed.ballast.defined()) (other + 1.0).eval();
    return 0;
  });
  CHECK(message_of<Error>([&] { (a + 5.0).eval(); }) == refused);
  pressed.ballast = Tensor();
  CHECK((a + 5.0).sum().item() == 8.0F * static_cast<float>(four_mib));
}

TEST_CASE("a pressure callback in the middle of a row program cannot compute either") {
  Pressed pressed(std::size_t{5} << 20);
  const Host& host = pressed.host;
  const std::int64_t four_mib = (std::int64_t{4} << 20) / 4;
  const Tensor rows = zeros({four_mib / 4, 4}, host.device).eval();
  const Tensor small = host.f32({1, 2, 3});
  pressed.fill();
  pressed.work = [&] { (small * 7.0).eval(); };
  const Tensor out = softmax(rows, 1);
  CHECK_FALSE(pressed.work);
  CHECK(contains(pressed.message, "inside of a pressure callback"));
  CHECK(narrow(out, 0, 9, 1).to_host<float>() == std::vector<float>{0.25F, 0.25F, 0.25F, 0.25F});
}

TEST_CASE("nothing grows over a loop of equal iterations") {
  const Host host;
  Tensor weight = counting(host, {16, 16}, 0.0F, 0.01F);
  const Tensor input = counting(host, {8, 16}, 0.0F, 0.02F);
  const auto iterate = [&] {
    const Tensor hidden = relu(matmul(input, weight) - 1.0);
    const Tensor loss = (hidden * hidden).mean();
    const Tensor gradient = matmul(input.transpose(), hidden) * 0.001;
    weight = (weight - gradient).eval();
    return loss.item();
  };
  const auto state = [&] {
    const auto pool = host.device.pool().stats();
    return std::vector<std::uint64_t>{pool.allocations.live, pool.requested.current,
                                      pool.driver_calls(), host.fusion().programs.load()};
  };
  for (int i = 0; i < 10; ++i) iterate();
  const auto warm = state();
  const auto launches = host.launches();
  iterate();
  const auto per_iteration = host.launches() - launches;
  for (int i = 0; i < 300; ++i) iterate();
  CHECK(state() == warm);
  CHECK(host.launches() == launches + 301 * per_iteration);
}

TEST_CASE("many structures degrade nothing and stay bounded") {
  const Host host;
  const Tensor a = host.f32({3});
  for (int i = 0; i < 10'000; ++i) {
    Tensor t = a;
    for (int bit = 0; bit < 14; ++bit) {
      t = ((i >> bit) & 1) != 0 ? std::move(t) + 1.0 : std::move(t) * 1.0;
    }
    REQUIRE(t.to_host<float>().size() == 1);
  }
  CHECK(host.fusion().programs.load() == 4096);
}

TEST_CASE("threads work on tensors of their own that share expressions") {
  Config config;
  config.host_threads = 2;
  const Host host(config);
  const Tensor shared = counting(host, {1000}) + 1.0;
  std::vector<std::thread> threads;
  std::vector<float> results(4);
  for (std::size_t n = 0; n < results.size(); ++n) {
    threads.emplace_back([&, n, mine = shared] {
      for (int i = 0; i < 100; ++i) {
        Tensor t = mine * static_cast<float>(n);
        t = std::move(t) - static_cast<float>(i);
        results[n] = t.sum().item();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t n = 0; n < results.size(); ++n) {
    CHECK(results[n] == 500500.0F * static_cast<float>(n) - 99000.0F);
  }
}
