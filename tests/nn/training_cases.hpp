// Networks that are trained again and again, on any device: what must not grow with history.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "forebay/compute/graph.hpp"
#include "forebay/compute/prepare.hpp"
#include "forebay/nn/nn.hpp"
#include "tests/support/catch.hpp"

namespace forebay::testing {

/// A network with its Adam; data and weights follow from the key.
struct Trained {
  Trained(const std::vector<std::int64_t>& widths, std::int64_t batch, std::uint64_t key,
          Device& device)
      : network(make(widths, key, device)),
        adam(network->parameters(), nn::AdamOptions(1e-3).betas({.9, .999}).eps(1e-5)),
        input(random_normal({batch, widths.front()}, nn::derive_key(key, 1000), device).eval()),
        target(random_normal({batch, widths.back()}, nn::derive_key(key, 1001), device).eval()) {}

  static nn::Sequential make(const std::vector<std::int64_t>& widths, std::uint64_t key,
                             Device& device) {
    nn::Sequential layers;
    for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
      if (i > 0) layers->push_back(nn::ReLU());
      layers->push_back(nn::Linear(nn::LinearOptions(widths[i], widths[i + 1]).bias(true), device,
                                   nn::derive_key(key, i)));
    }
    return layers;
  }
  Tensor step() {
    adam.zero_grad();
    Tensor loss = nn::mse_loss(network(input), target);
    nn::backward(loss);
    adam.step();
    return loss;
  }

  nn::Sequential network;
  nn::Adam adam;
  Tensor input, target;
};

/// Everything that a history could make grow.
struct Footprint {
  explicit Footprint(Device& device)
      : blocks(device.pool().stats().allocations.live),
        bytes(device.pool().stats().requested.current),
        nodes(device.counters().autograd.live_nodes.load()),
        events(device.counters().events.load()),
        programs(device.counters().fusion.programs.load()),
        plans(device.counters().fusion.plans.load()),
        compiled(device.counters().kernels.compiled.load()),
        held(device.pool().stats().held.current) {}
  bool operator==(const Footprint&) const = default;
  std::uint64_t blocks, bytes, nodes, events, programs, plans, compiled, held;
};

inline std::ostream& operator<<(std::ostream& out, const Footprint& f) {
  return out << "blocks " << f.blocks << " bytes " << f.bytes << " nodes " << f.nodes << " events "
             << f.events << " programs " << f.programs << " plans " << f.plans << " compiled "
             << f.compiled << " held " << f.held;
}

/// What is made anew in each outer iteration, beside the network that stays.
enum class Renewal { none, same_shape, jittered };

/// Losses of the network that stays; its footprint after iteration `from` must hold to the end.
inline std::vector<float> train_beside(Device& device, Renewal renewal, int iterations, int from) {
  const std::vector<std::int64_t> widths{16, 32, 32, 8};
  Trained lasting(widths, 32, 1, device);
  std::vector<float> losses;
  std::unique_ptr<Footprint> first;
  std::uint64_t tables = 0;
  for (int i = 0; i < iterations; ++i) {
    std::vector<std::int64_t> shape = widths;
    if (renewal == Renewal::jittered) {
      for (std::int64_t& width : shape) width += i * 7 % 13;
    }
    std::unique_ptr<Trained> passing;
    if (renewal != Renewal::none) {
      passing = std::make_unique<Trained>(shape, 32, 100 + static_cast<std::uint64_t>(i), device);
    }
    Tensor loss;
    // Enough frees before `from` for the pool to have every event that it will ever have.
    for (int step = 0; step < 12; ++step) {
      loss = lasting.step();
      if (passing) (void)passing->step();
    }
    losses.push_back(loss.item());
    loss = {};
    passing.reset();
    device.synchronize();
    if (i == from) {
      (void)prepare(device);  // what is compiled in the background was asked for before
      first = std::make_unique<Footprint>(device);
      tables = device.counters().tensor_tables.load();
    }
  }
  INFO("on " << device.id());
  const Footprint last(device);
  CHECK(last.nodes == 0);
  if (renewal == Renewal::jittered) {
    // Bytes of held memory may settle; plans are bounded by the widths that come round.
    CHECK(last.blocks == first->blocks);
    CHECK(last.bytes == first->bytes);
    CHECK(last.programs == first->programs);
    CHECK(last.compiled == first->compiled);
  } else {
    CHECK(last == *first);
  }
  const std::uint64_t renewed = renewal == Renewal::none ? 0 : iterations - 1 - from;
  CHECK(device.counters().tensor_tables.load() == tables + renewed);
  CHECK(losses.back() < losses.front());
  return losses;
}

/// The complaint: a network that is made and dropped in each iteration changes nothing for another.
inline void check_training_without_history(Device& device, int iterations) {
  const int from = iterations / 4 + 13;
  const std::vector<float> alone = train_beside(device, Renewal::none, iterations, from);
  CHECK(train_beside(device, Renewal::same_shape, iterations, from) == alone);
  CHECK(train_beside(device, Renewal::jittered, iterations, from) == alone);
}

/// Bits of all parameters, one after the other.
inline std::vector<float> parameter_values(const Trained& trained) {
  std::vector<float> all;
  for (const Tensor& parameter : trained.network->parameters()) {
    const std::vector<float> values = parameter.to_host<float>();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

/// A captured training step against the same step done each time.
inline void check_captured_training(Device& device, int steps) {
  const std::vector<std::int64_t> widths{16, 32, 8};
  Trained eager(widths, 32, 1, device);
  auto captured = std::make_unique<Trained>(widths, 32, 1, device);
  // The first step makes gradients, moments and the optimizer's table.
  (void)eager.step();
  CHECK_THROWS_AS(capture(device, [&] { (void)captured->step(); }), CaptureError);
  captured = std::make_unique<Trained>(widths, 32, 1, device);
  (void)captured->step();
  Tensor loss;
  Graph graph = capture(device, [&] { loss = captured->step(); });
  CHECK(captured->adam.steps() == 1);
  for (int i = 0; i < steps; ++i) {
    // Another rate for every step, which the graph reads where it lies.
    const double lr = 1e-3 * (1 + i % 7);
    eager.adam.set_lr(lr);
    captured->adam.set_lr(lr);
    const float wanted = eager.step().item();
    graph.replay();
    REQUIRE(loss.item() == wanted);
  }
  CHECK(captured->adam.steps() == steps + 1);
  CHECK(parameter_values(*captured) == parameter_values(eager));
  // New data reach the graph where it reads them.
  for (Trained* trained : {&eager, captured.get()}) {
    assign(trained->input, random_normal(trained->input.shape(), 5, device));
  }
  graph.replay();
  CHECK(loss.item() == eager.step().item());
  // Ordinary steps go on from there.
  CHECK(captured->step().item() == eager.step().item());
  CHECK(parameter_values(*captured) == parameter_values(eager));
  // The graph needs nobody else to keep what it uses.
  captured.reset();
  Trained other(widths, 32, 2, device);
  for (int i = 0; i < 3; ++i) {
    (void)other.step();  // takes memory of the same sizes, moments among it
    graph.replay();
    REQUIRE(loss.item() == eager.step().item());
  }
  graph = {};
  CHECK(device.pool().validate() == "");
}

/// Replays of a training step, and graphs that come and go, leave nothing behind.
inline void check_captured_training_without_history(Device& device, int replays) {
  Trained trained({16, 32, 8}, 32, 1, device);
  (void)trained.step();
  Tensor loss;
  {
    const Graph graph = capture(device, [&] { loss = trained.step(); });
    graph.replay();
    (void)loss.item();
    // What is still being compiled for later runs would be counted below.
    REQUIRE(prepare(device));
    device.synchronize();
    const Footprint before(device);
    const std::uint64_t allocations = device.pool().stats().allocations.total;
    const std::uint64_t calls = device.driver_calls();
    for (int i = 0; i < replays; ++i) graph.replay();
    CHECK(device.pool().stats().allocations.total == allocations);
    // The launch, and before it the look at which context is current.
    const bool cuda = device.info().kind == DeviceKind::cuda;
    CHECK(device.driver_calls() == calls + (cuda ? 2U * static_cast<unsigned>(replays) : 0U));
    device.synchronize();
    CHECK(Footprint(device) == before);
  }
  std::unique_ptr<Footprint> settled;
  for (int i = 0; i < 60; ++i) {
    const Graph graph = capture(device, [&] { loss = trained.step(); });
    graph.replay();
    (void)loss.item();
    loss = {};
    device.synchronize();
    if (i == 40) {
      (void)prepare(device);
      settled = std::make_unique<Footprint>(device);
    }
  }
  CHECK(Footprint(device) == *settled);
}

/// Network, optimizer, loss and data dropped in every order.
inline void check_module_drop_orders(Device& device) {
  const Footprint before(device);
  std::vector<int> order{0, 1, 2, 3};
  do {
    auto network = std::make_unique<nn::Sequential>(Trained::make({4, 8, 2}, 7, device));
    auto adam = std::make_unique<nn::Adam>((*network)->parameters());
    auto input = std::make_unique<Tensor>(random_normal({16, 4}, 3, device));
    auto loss = std::make_unique<Tensor>(((*network)(*input)).sum());
    nn::backward(*loss);
    adam->step();
    *loss = (*network)(*input).sum();
    for (const int what : order) {
      if (what == 0) network.reset();
      if (what == 1) adam.reset();
      if (what == 2) input.reset();
      if (what == 3) loss.reset();
    }
  } while (std::next_permutation(order.begin(), order.end()));
  device.synchronize();
  const Footprint after(device);
  CHECK(after.blocks == before.blocks);
  CHECK(after.bytes == before.bytes);
  CHECK(after.nodes == before.nodes);
}

}  // namespace forebay::testing
