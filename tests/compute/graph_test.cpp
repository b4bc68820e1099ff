// Graphs on the host, where the calls of a capture are kept and repeated.
#include "forebay/compute/graph.hpp"

#include <thread>

#include "tests/compute/graph_cases.hpp"
#include "tests/compute/test_backend.hpp"

using namespace forebay;
using namespace forebay::testing;

TEST_CASE("a graph computes nothing until it is replayed, and then reads what is there") {
  const Host host;
  check_replay(host.device);
}

TEST_CASE("what was lazy before a capture stays right") {
  const Host host;
  check_lazy_before(host.device);
}

TEST_CASE("whatever a tensor was before a capture, replays read and write it") {
  const Host host;
  check_inputs_of_every_kind(host.device);
}

TEST_CASE("numbers repeated by broadcast are what replays read and write, too") {
  const Host host;
  check_repeated_numbers(host.device);
}

TEST_CASE("what a function leaves lazy has the latest replay's value") {
  const Host host;
  check_left_lazy(host.device);
}

TEST_CASE("a graph is captured by its stream") {
  Host host;
  check_by_stream(host.device);
  const Stream own = host.device.default_stream(), created = host.device.create_stream();
  host.runtime.close();
  CHECK_THROWS_AS(capture(own, [] {}), ClosedError);
  CHECK_THROWS_AS(capture(created, [] {}), ClosedError);
  CHECK_THROWS_AS(capture(Stream(), [] {}), ClosedError);
}

TEST_CASE("equal numbers are stored together") {
  const Host host;
  check_many_numbers(host.device);
}

TEST_CASE("numbers that a function leaves have their value if there is no memory for the rest") {
  const Host host;
  check_numbers_without_memory(host.device);
}

TEST_CASE("what reads numbers that a function leaves is right if memory ran out") {
  const Host host;
  check_readers_without_memory(host.device);
}

TEST_CASE("a number that cannot be filled is an error, but not in place of an earlier one") {
  const ScriptedHost scripted;
  Device& device = scripted.host.device;
  Tensor number, huge;
  CHECK_THROWS_AS(capture(device,
                          [&] {
                            number = full({3}, 7.0F, device);
                            ScriptedHost::script.fails = true;
                          }),
                  DriverError);
  number = Tensor();
  CHECK_THROWS_AS(capture(device,
                          [&] {
                            number = full({3}, 7.0F, device);
                            huge = zeros({kTooMany}, device);
                          }),
                  OutOfMemory);
}

TEST_CASE("the last handle of a graph may go inside of its update") {
  const Host host;
  check_dropped_by_its_update(host.device);
}

TEST_CASE("a capture that throws leaves everything as it was") {
  const Host host;
  check_exception(host.device);
}

TEST_CASE("what needs a value at once is an error inside of a capture") {
  const Host host;
  check_refusals(host.device);
}

TEST_CASE("a graph keeps what it uses alive, and gives it back when it goes") {
  const Host host;
  check_lifetimes(host.device);
}

TEST_CASE("replays find their inputs unchanged, and change nobody else's values") {
  const Host host;
  check_reuse(host.device);
}

TEST_CASE("an updated graph does the new work") {
  const Host host;
  check_update(host.device);
}

TEST_CASE("a thousand replays allocate nothing and leave nothing behind") {
  const Host host;
  check_replays_without_growth(host.device, 1000);
}

TEST_CASE("graphs are dropped in any order") {
  const Host host;
  check_drop_orders(host.device);
}

TEST_CASE("a matrix product, views and assignments replay") {
  const Host host;
  check_other_work(host.device);
}

TEST_CASE("graphs of a closed runtime throw, and go without a word") {
  Graph left;
  Tensor output;
  {
    Host host;
    const Tensor x = host.f32({1, 2, 3});
    left = capture(host.device, [&] { output = (x + 1.0F).eval(); });
    host.runtime.close();
    CHECK_THROWS_AS(left.replay(), ClosedError);
    CHECK_THROWS_AS(left.size(), ClosedError);
    CHECK_THROWS_AS(left.update([] {}), ClosedError);
    CHECK_THROWS_AS(capture(host.device, [] {}), ClosedError);
  }
  CHECK(left.defined());
}

TEST_CASE("an undefined graph says so, and a capture needs a function") {
  const Host host;
  Graph none;
  CHECK_FALSE(none.defined());
  CHECK_THROWS_AS(none.replay(), Error);
  CHECK_THROWS_AS(none.size(), Error);
  CHECK_THROWS_AS(none.update([] {}), Error);
  CHECK_THROWS_AS(capture(host.device, nullptr), Error);
  const Graph empty = capture(host.device, [] {});
  CHECK(empty.size() == 0);
  empty.replay();
}

TEST_CASE("another thread's tensors wait for a capture and are no part of it") {
  const Host host;
  const Tensor x = host.f32({1, 2, 3, 4});
  float elsewhere = 0;
  std::thread other;
  Tensor output;
  const Graph graph = capture(host.device, [&] {
    other = std::thread([&] { elsewhere = (x * 2.0F).sum().item(); });
    output = (x + 1.0F).eval();
    CHECK(capturing(host.device));
  });
  other.join();
  CHECK(elsewhere == 20);
  CHECK_FALSE(capturing(host.device));
  CHECK(graph.size() == 1);
  graph.replay();
  CHECK(output.to_host<float>() == std::vector<float>{2, 3, 4, 5});
}

TEST_CASE("a backend from outside the library gets graphs without doing anything for them") {
  ScriptedHost scripted;
  const Host& host = scripted.host;
  const Tensor x = host.f32({1, 2, 3});
  Tensor output;
  const std::uint64_t runs = ScriptedHost::script.second_runs;
  const Graph graph = capture(host.device, [&] { output = (x * 3.0F).eval(); });
  CHECK(ScriptedHost::script.second_runs == runs);
  graph.replay();
  CHECK(output.to_host<float>() == std::vector<float>{3, 6, 9});
  // Whichever executor is ready by then runs it.
  ScriptedHost::script.first_is_ready = true;
  assign(x, host.f32({4, 5, 6}));
  const std::uint64_t first = ScriptedHost::script.first_runs;
  graph.replay();
  CHECK(ScriptedHost::script.first_runs == first + 1);
  CHECK(output.to_host<float>() == std::vector<float>{12, 15, 18});
  ScriptedHost::script.first_is_ready = false;
  ScriptedHost::script.fails = true;
  CHECK_THROWS_AS(graph.replay(), DriverError);
}
