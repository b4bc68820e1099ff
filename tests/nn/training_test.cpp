// Training as a whole: nothing grows with history, and a step costs few launches.
#include <thread>

#include "forebay/runtime/runtime.hpp"
#include "tests/nn/counting_backend.hpp"
#include "tests/nn/training_cases.hpp"

using namespace forebay;

TEST_CASE("re-creating a network beside another leaves nothing behind and changes nothing") {
  Runtime runtime = Runtime::create();
  testing::check_training_without_history(runtime.device("host"), 120);
}

TEST_CASE("parts of a network can be dropped in any order") {
  Runtime runtime = Runtime::create();
  testing::check_module_drop_orders(runtime.device("host"));
}

TEST_CASE("a training step of four layers costs at most 28 launches and no new table") {
  testing::CountingHost counting;
  Device& host = counting.device();
  testing::Trained network({64, 256, 256, 256, 32}, 256, 1, host);
  for (int i = 0; i < 3; ++i) (void)network.step();
  const std::uint64_t before = counting.launches();
  const std::uint64_t uploads = testing::CountingHost::calls().uploads;
  const std::uint64_t tables = host.counters().tensor_tables.load();
  for (int i = 0; i < 4; ++i) (void)network.step();
  CHECK((counting.launches() - before) / 4 <= 28);
  CHECK(testing::CountingHost::calls().uploads == uploads);
  CHECK(host.counters().tensor_tables.load() == tables);
}

TEST_CASE("two threads train two networks of one device as each would alone") {
  const auto losses = [](Device& host, std::uint64_t key) {
    testing::Trained network({8, 16, 16, 4}, 32, key, host);
    std::vector<float> values;
    for (int i = 0; i < 30; ++i) values.push_back(network.step().item());
    return values;
  };
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  const std::vector<float> first = losses(host, 1);
  const std::vector<float> second = losses(host, 2);
  std::vector<float> beside_first;
  std::vector<float> beside_second;
  std::thread one([&] { beside_first = losses(host, 1); });
  std::thread two([&] { beside_second = losses(host, 2); });
  one.join();
  two.join();
  CHECK(beside_first == first);
  CHECK(beside_second == second);
  CHECK(host.counters().autograd.live_nodes == 0);
}

TEST_CASE("gradients of weights keep their addresses") {
  Runtime runtime = Runtime::create();
  Device& host = runtime.device("host");
  testing::Trained network({8, 16, 4}, 32, 1, host);
  (void)network.step();
  std::vector<void*> addresses;
  for (const Tensor& p : network.network->parameters()) addresses.push_back(nn::grad(p).data());
  for (int i = 0; i < 5; ++i) {
    (void)network.step();
    std::vector<void*> now;
    for (const Tensor& p : network.network->parameters()) now.push_back(nn::grad(p).data());
    CHECK(now == addresses);
  }
}

TEST_CASE("a captured training step replays the same bits as the step itself") {
  Runtime runtime = Runtime::create();
  testing::check_captured_training(runtime.device("host"), 100);
}

TEST_CASE("a thousand replayed training steps, and graphs that come and go, leave nothing behind") {
  Runtime runtime = Runtime::create();
  testing::check_captured_training_without_history(runtime.device("host"), 1000);
}
