// What holds for graphs on any device.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "forebay/compute/graph.hpp"
#include "forebay/compute/in_place.hpp"
#include "forebay/compute/math.hpp"
#include "forebay/compute/shaping.hpp"
#include "forebay/compute/tensor.hpp"
#include "tests/support/catch.hpp"

namespace forebay::testing {

using Floats = std::vector<float>;

inline Tensor on(Device& device, const Floats& values) {
  return from_host<float>(values, {static_cast<std::int64_t>(values.size())}, device);
}

/// What graphs could leave behind on a device.
struct GraphFootprint {
  explicit GraphFootprint(Device& device)
      : blocks(device.pool().stats().allocations.live),
        allocations(device.pool().stats().allocations.total),
        held(device.pool().stats().held.current),
        states(device.pool().stats().streams.size()),
        events(device.counters().events),
        programs(device.counters().fusion.programs),
        graphs(device.counters().graphs.live) {}
  bool operator==(const GraphFootprint&) const = default;
  std::uint64_t blocks, allocations, held, states, events, programs, graphs;
};

inline std::ostream& operator<<(std::ostream& out, const GraphFootprint& f) {
  return out << "blocks " << f.blocks << " allocations " << f.allocations << " held " << f.held
             << " states " << f.states << " events " << f.events << " programs " << f.programs
             << " graphs " << f.graphs;
}

inline void check_replay(Device& device) {
  const Tensor x = on(device, {1, 2, 3});
  Tensor y;
  Tensor total;
  const Graph graph = capture(device, [&] {
    y = (x * 2.0F).eval();
    total = (y + 1.0F).sum();
  });
  CHECK(graph.defined());
  CHECK(graph.size() == 2);
  graph.replay();
  CHECK(y.to_host<float>() == Floats{2, 4, 6});
  CHECK(total.item() == 15);
  CHECK(total.item() == 15);
  // No value that the host read before may be taken for the new one.
  for (int i = 1; i <= 5; ++i) {
    const auto f = static_cast<float>(i);
    assign(x, on(device, {f, f, f}));
    graph.replay();
    CHECK(total.item() == 6 * f + 3);
    CHECK(y.to_host<float>() == Floats{2 * f, 2 * f, 2 * f});
    // Work between replays uses the values and is used by them.
    CHECK((y + x).sum().item() == 9 * f);
  }
  CHECK(device.counters().graphs.replays == 6);
}

inline void check_lazy_before(Device& device) {
  const Tensor x = on(device, {1, 2, 3});
  const Tensor lazy = x + 1.0F;
  const Tensor constant = full({3}, 5.0F, device);
  const Tensor turned = on(device, {1, 2, 3, 4, 5, 6}).reshape({2, 3}).transpose();
  const Tensor column = narrow(on(device, {1, 2, 3, 4, 5, 6}).reshape({2, 3}), 1, 1, 1);
  Tensor out;
  const Graph graph = capture(device, [&] {
    lazy.eval();
    constant.eval();
    // Theirs would be memory of the graph, and no part of the whole any more.
    CHECK_THROWS_AS(turned.data(), CaptureError);
    CHECK_THROWS_AS(column.data(), CaptureError);
    const Tensor inner = (turned + 1.0F).eval().transpose();
    CHECK(inner.data() != nullptr);
    CHECK(turned.reshape(turned.shape()).data() != nullptr);
    out = (lazy * constant).eval();
  });
  // Nothing was computed, and yet everybody reads the right thing.
  CHECK(lazy.to_host<float>() == Floats{2, 3, 4});
  CHECK(constant.to_host<float>() == Floats{5, 5, 5});
  CHECK(turned.to_host<float>() == Floats{1, 4, 2, 5, 3, 6});
  CHECK(column.to_host<float>() == Floats{2, 5});
  graph.replay();
  CHECK(out.to_host<float>() == Floats{10, 15, 20});
  assign(x, on(device, {10, 20, 30}));
  graph.replay();
  CHECK(out.to_host<float>() == Floats{10, 15, 20});  // it has the value from before the capture
  assign(lazy, x);
  graph.replay();
  CHECK(out.to_host<float>() == Floats{50, 100, 150});
}

inline void check_by_stream(Device& device) {
  const Tensor x = on(device, {1, 2, 3});
  Tensor out;
  const Graph graph = capture(device.default_stream(), [&] { out = x + 1.0F; });
  graph.replay();
  CHECK(out.to_host<float>() == Floats{2, 3, 4});
  const Stream other = device.create_stream();
  bool ran = false;
  CHECK_THROWS_WITH(capture(other, [&] { ran = true; }),
                    "capture on stream " + std::to_string(other.id()) + " of " + device.id() +
                        ": tensors work on its default_stream, " +
                        std::to_string(device.default_stream().id()));
  CHECK_FALSE(ran);
}

inline constexpr std::int64_t kTooMany = std::int64_t{1} << 45;  // elements for any device's memory

inline void check_numbers_without_memory(Device& device) {
  const Tensor x = on(device, {1});
  for (const bool constant : {false, true}) {
    Tensor first, huge, last;
    const auto work = [&] {
      first = full({3}, 7.0F, device);
      huge = constant ? zeros({kTooMany}, device) : x.broadcast_to({kTooMany}) + 1.0F;
      last = flip(narrow(full({5}, 7.0F, device), 0, 1, 3), 0);
    };
    Graph graph = capture(device, [&] { (x + 1.0F).eval(); });
    CHECK_THROWS_AS(capture(device, work), OutOfMemory);
    CHECK(first.to_host<float>() == Floats(3, 7));
    CHECK(last.to_host<float>() == Floats(3, 7));
    CHECK_THROWS_AS(graph.update(work), OutOfMemory);
    CHECK(first.to_host<float>() == Floats(3, 7));
    CHECK(last.to_host<float>() == Floats(3, 7));
    graph.replay();
    CHECK((x + 1.0F).item() == 2);
  }
}

inline void check_readers_without_memory(Device& device) {
  const Tensor x = on(device, {1, 2, 3});
  for (const int kind : {0, 1, 2}) {
    Tensor first, last, huge, sum;
    const auto work = [&] {
      first = full({kind == 0 ? 3 : 1}, 7.0F, device);
      last = full({5}, 8.0F, device);
      huge = kind == 0   ? x.reshape({3, 1}).broadcast_to({3, kTooMany}) + 1.0F
             : kind == 1 ? narrow(x, 0, 0, 1).broadcast_to({kTooMany}) + first
                         : zeros({kTooMany}, device);
      // What fails comes before it, so it stays an expression.
      if (kind == 0) sum = x.broadcast_to({5, 3}) + first;
    };
    CHECK_THROWS_AS(capture(device, work), OutOfMemory);
    CHECK(first.to_host<float>() == Floats(first.shape()[0], 7));
    CHECK(last.to_host<float>() == Floats(5, 8));
    if (kind == 0) {
      CHECK(narrow(sum, 0, 4, 1).to_host<float>() == Floats{8, 9, 10});
    }
  }
}

// Whatever a tensor from before a capture was, replays read and write it where it is.
inline void check_inputs_of_every_kind(Device& device) {
  const Tensor x = on(device, {1, 2, 3});
  struct Input {
    Tensor tensor;
    Floats before;
  };
  const Tensor whole = zeros({2, 3}, device);
  const std::vector<Input> inputs{
      {zeros({3}, device), {0, 0, 0}},
      {x * 2.0F, {2, 4, 6}},
      {arange(0, 3, 1, device, DType::f32), {0, 1, 2}},
      {zeros({3}, device) + 1.0F, {1, 1, 1}},
      {flip(full({3}, 4.0F, device), 0), {4, 4, 4}},
      {narrow(whole, 0, 1, 1).reshape({3}), {0, 0, 0}},
      {random_uniform({3}, 7, device), random_uniform({3}, 7, device).to_host<float>()},
  };
  for (const Input& input : inputs) {
    const Tensor& tensor = input.tensor;
    Tensor out;
    const Graph graph = capture(device, [&] {
      out = (tensor + 10.0F).eval();
      add_(tensor, 1.0F);
      mul_(narrow(tensor, 0, 0, 1), 2.0F);
    });
    CHECK(tensor.to_host<float>() == input.before);
    Floats now = input.before;
    for (int replay = 0; replay < 3; ++replay) {
      if (replay == 2) {
        now = {10, 20, 30};
        assign(tensor, on(device, now));
      }
      graph.replay();
      Floats read;
      for (float& element : now) {
        read.push_back(element + 10);
        element += 1;
      }
      now[0] *= 2;
      CHECK(out.to_host<float>() == read);
      CHECK(tensor.to_host<float>() == now);
    }
  }
  CHECK(narrow(whole, 0, 1, 1).reshape({3}).to_host<float>() == Floats{22, 21, 31});
  CHECK(narrow(whole, 0, 0, 1).reshape({3}).to_host<float>() == Floats{0, 0, 0});
}

// Numbers repeated by broadcast are memory of one row for the graph, too: who writes to the row
// writes to all of them.
inline void check_repeated_numbers(Device& device) {
  const Tensor one = full({}, 1.0F, device);
  const Tensor shared = one.broadcast_to({3});
  const Tensor rows = full({3}, 1.0F, device).broadcast_to({2, 3});
  const Tensor part = narrow(zeros({64}, device), 0, 7, 3).broadcast_to({2, 3});
  const Tensor x = on(device, {1, 2, 3});
  Tensor sum, of_rows, of_part, of_number;
  const Graph graph = capture(device, [&] {
    add_(one, 1.0F);
    add_(narrow(rows, 0, 0, 1), 1.0F);
    add_(narrow(part, 0, 1, 1), x.reshape({1, 3}));
    CHECK_THROWS_AS(add_(rows, 1.0F), ShapeError);
    rows.eval();
    CHECK_THROWS_AS(add_(rows, 1.0F), ShapeError);
    sum = x + shared;
    of_rows = rows * 1.0F;
    of_part = part + 0.0F;
    of_number = shared.sum() * one;
  });
  CHECK(rows.to_host<float>() == Floats(6, 1));
  CHECK(shared.to_host<float>() == Floats(3, 1));
  CHECK_THROWS_AS(fill_(rows, 1.0F), ShapeError);
  for (int replay = 1; replay <= 3; ++replay) {
    if (replay == 3) fill_(narrow(rows, 0, 1, 1), 10.0F);
    graph.replay();
    const auto n = static_cast<float>(replay);
    CHECK(sum.to_host<float>() == Floats{2 + n, 3 + n, 4 + n});
    CHECK(shared.to_host<float>() == Floats(3, 1 + n));
    CHECK(of_number.item() == 3 * (1 + n) * (1 + n));
    CHECK(of_rows.to_host<float>() == Floats(6, replay == 3 ? 11 : 1 + n));
    CHECK(of_part.to_host<float>() == Floats{n, 2 * n, 3 * n, n, 2 * n, 3 * n});
  }
}

// What the function leaves is computed by each replay, whatever else is captured meanwhile.
inline void check_left_lazy(Device& device) {
  const Tensor x = on(device, {1, 2, 3});
  Tensor loss, twice, number, above, rows, left, right;
  const Graph graph = capture(device, [&] {
    loss = x.sum() * 0.5F;
    twice = x * 2.0F;
    number = zeros({3}, device);
    add_(number, 1.0F);
    above = narrow(ones({4}, device), 0, 1, 3);
    rows = full({3, 1}, 3.0F, device).broadcast_to({3, 2});
    const Tensor hidden = full({7}, 4.0F, device);
    left = narrow(hidden, 0, 0, 2);
    right = narrow(hidden, 0, 3, 4);
  });
  CHECK(graph.size() == 8);  // sum, loss, twice, number, what is added, above, rows, hidden
  // Numbers are what they are, also if nobody replays.
  CHECK(above.to_host<float>() == Floats(3, 1));
  CHECK(rows.to_host<float>() == Floats(6, 3));
  CHECK(left.to_host<float>() == Floats(2, 4));
  CHECK(right.to_host<float>() == Floats(4, 4));
  const Graph other = capture(device, [&] { (x + loss).eval(); });
  CHECK_THROWS_AS(capture(device, [&] { throw std::out_of_range("out of the work"); }),
                  std::out_of_range);
  for (const float f : {1.0F, 2.0F, 5.0F}) {
    assign(x, on(device, {f, f, f}));
    graph.replay();
    CHECK(loss.item() == 1.5F * f);
    CHECK(twice.to_host<float>() == Floats(3, 2 * f));
    CHECK(number.to_host<float>() == Floats(3, 1));
    CHECK(above.to_host<float>() == Floats(3, 1));
    CHECK(rows.to_host<float>() == Floats(6, 3));
    // A function that runs again makes its numbers anew.
    fill_(number, 7.0F);
    fill_(above, 7.0F);
    fill_(narrow(rows, 1, 0, 1), 7.0F);
  }
}

// Equal numbers share launches as other values of one shape do.
inline void check_many_numbers(Device& device) {
  std::vector<Tensor> all(40);
  const Graph graph = capture(device, [&] {
    for (Tensor& number : all) number = full({3}, 7.0F, device);
  });
  CHECK(graph.size() <= 10);
  graph.replay();
  for (const Tensor& number : all) CHECK(number.to_host<float>() == Floats(3, 7));
  std::vector<Tensor> others;
  for (const DType type : {DType::f64, DType::f16, DType::u8, DType::boolean}) {
    for (int i = 0; i < 20; ++i) others.push_back(ones({5}, device, type));
  }
  for (int i = 0; i < 10; ++i) others.push_back(others[3]);
  const std::uint64_t launches = device.counters().fusion.launches;
  eval(others);
  CHECK(device.counters().fusion.launches <= launches + 20);
  for (const Tensor& number : others) CHECK(number.to(DType::f32).to_host<float>() == Floats(5, 1));
}

// The last handle may go inside of its own update.
inline void check_dropped_by_its_update(Device& device) {
  const Tensor x = on(device, {1, 2, 3});
  Graph graph = capture(device, [&] { (x + 1.0F).eval(); });
  Tensor out;
  graph.update([&] {
    CHECK_THROWS_AS(graph.size(), CaptureError);
    graph = Graph();
    out = (x + 2.0F).eval();
  });
  CHECK_FALSE(graph.defined());
  CHECK(device.counters().graphs.live == 0);
  CHECK((x + 3.0F).to_host<float>() == Floats{4, 5, 6});
}

inline void check_exception(Device& device) {
  const Tensor x = on(device, {1, 2, 3});
  const Tensor lazy = x * 4.0F;
  (void)x.sum().item();
  {
    // So that programs are known, and the footprint counts captures alone.
    const Graph warm = capture(device, [&] { (lazy + 1.0F).eval(); });
  }
  device.pool().trim();
  const GraphFootprint before(device);
  for (int i = 0; i < 3; ++i) {
    CHECK_THROWS_AS(capture(device,
                            [&] {
                              const Tensor inner = (lazy + 1.0F).eval();
                              throw std::out_of_range("out of the work");
                            }),
                    std::out_of_range);
    CHECK_FALSE(capturing(device));
  }
  device.pool().trim();
  GraphFootprint after(device);
  CHECK(after.allocations > before.allocations);
  after.allocations = before.allocations;
  after.held = before.held;
  after.events = before.events;
  CHECK(after == before);
  CHECK(lazy.to_host<float>() == Floats{4, 8, 12});
  CHECK(device.pool().validate() == "");
  // The device works on, and captures.
  Tensor y;
  const Graph graph = capture(device, [&] { y = (x + 1.0F).eval(); });
  graph.replay();
  CHECK(y.to_host<float>() == Floats{2, 3, 4});
}

inline std::string refusal(Device& device, const std::function<void()>& what) {
  std::string text;
  const Graph graph = capture(device, [&] {
    try {
      what();
    } catch (const CaptureError& error) {
      text = error.what();
    }
  });
  CHECK(graph.size() == 0);
  graph.replay();
  return text;
}

inline void check_refusals(Device& device) {
  const Tensor x = on(device, {1, 2, 3});
  const Tensor one = on(device, {7});
  const Graph other = capture(device, [&] { (x + 1.0F).eval(); });
  const auto says = [&](const std::function<void()>& what, const std::string& part) {
    const std::string text = refusal(device, what);
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
    CHECK(text.find("inside of a capture on " + device.id()) != std::string::npos);
    CHECK(text.find('\n') == std::string::npos);
  };
  says([&] { (void)one.item(); }, "item");
  says([&] { (void)x.to_host<float>(); }, "to_host");
  says([&] { (void)on(device, {1}); }, "from_host");
  says(
      [&] {
        const Floats values{1, 2};
        const std::span<const float> both[] = {values, values};
        (void)from_host_many<float>(both, {2}, device);
      },
      "from_host");
  const Tensor index = from_host<std::int64_t>(std::array<std::int64_t, 1>{2}, {1}, device);
  says([&] { (void)index_select(x, 0, index); }, "index_select");
  says([&] { (void)gather(x, 0, index); }, "gather");
  says([&] { other.replay(); }, "replay");
  says([&] { (void)capture(device, [] {}); }, "capture");
  CHECK(one.item() == 7);
  CHECK_THROWS_AS(capture(device, [&] { (void)x.sum().item(); }), CaptureError);
}

inline void check_lifetimes(Device& device) {
  const std::uint64_t before = device.pool().stats().allocations.live;
  // Scratch memory of reductions and matrix products, made once.
  const std::uint64_t made_ready = device.info().kind == DeviceKind::cuda ? 2 : 0;
  Tensor out, product, seen;
  {
    Graph graph;
    {
      const Tensor x = on(device, {1, 2, 3});
      const Tensor target = on(device, {0, 0, 0});
      const Tensor source = on(device, {7, 8, 9});
      const Tensor sink = on(device, {0, 0, 0});
      const Tensor unread = on(device, {0, 0, 0});
      const Tensor a = on(device, {1, 2, 3, 4}).reshape({2, 2});
      const Tensor b = on(device, {0, 1, 1, 0}).reshape({2, 2});
      graph = capture(device, [&] {
        const Tensor inner = (x + 1.0F).eval();
        assign(target, inner * 2.0F);
        out = (target + inner).eval();
        assign(sink, source);
        seen = (sink * 1.0F).eval();
        assign(unread, source);
        product = matmul(a, b);
      });
    }
    // Nobody else has the inputs any more; what others allocate must not be theirs.
    std::vector<Tensor> others;
    for (int i = 0; i < 20; ++i) others.push_back(full({3}, -1.0F, device).eval());
    graph.replay();
    CHECK(out.to_host<float>() == Floats{6, 9, 12});
    CHECK(seen.to_host<float>() == Floats{7, 8, 9});
    CHECK(product.to_host<float>() == Floats{2, 1, 4, 3});
    for (const Tensor& other : others) CHECK(other.to_host<float>() == Floats{-1, -1, -1});
    const Graph copy = graph;
    graph = {};
    copy.replay();
    CHECK(out.to_host<float>() == Floats{6, 9, 12});
  }
  // The output outlives its graph.
  std::vector<Tensor> others;
  for (int i = 0; i < 20; ++i) others.push_back(full({3}, -2.0F, device).eval());
  CHECK(out.to_host<float>() == Floats{6, 9, 12});
  others.clear();
  out = product = seen = {};
  CHECK(device.pool().stats().allocations.live <= before + made_ready);
  CHECK(device.counters().graphs.live == 0);
  CHECK(device.pool().validate() == "");
}

/// Expressions write over inputs that nobody reads any more; replays read again.
inline void check_reuse(Device& device) {
  Tensor x = on(device, {1, 2, 3});
  Tensor out;
  const Graph graph = capture(device, [&] { out = (std::move(x) + 1.0F).eval(); });
  for (int i = 0; i < 3; ++i) {
    graph.replay();
    CHECK(out.to_host<float>() == Floats{2, 3, 4});
  }
  const Tensor after = (std::move(out) * 10.0F).eval();
  graph.replay();
  CHECK(after.to_host<float>() == Floats{20, 30, 40});
  // Inside of one capture temporaries are written over as ever.
  const Tensor y = on(device, {1, 2, 3});
  const std::uint64_t reused = device.counters().fusion.reused;
  const Graph chain = capture(device, [&] {
    Tensor next = (y + 1.0F).eval();
    for (int i = 0; i < 5; ++i) next = (std::move(next) * 2.0F).eval();
    out = next;
  });
  CHECK(device.counters().fusion.reused == reused + 5);
  for (int i = 0; i < 2; ++i) {
    chain.replay();
    CHECK(out.to_host<float>() == Floats{64, 96, 128});
  }
}

inline void check_update(Device& device) {
  const Tensor x = on(device, {1, 2, 3});
  const Tensor y = on(device, {10, 20, 30});
  Tensor out;
  Graph graph = capture(device, [&] { out = (x + 1.0F).eval(); });
  graph.replay();
  const Tensor first = out;
  CHECK(first.to_host<float>() == Floats{2, 3, 4});
  graph.update([&] { out = (y + 1.0F).eval(); });
  CHECK(first.to_host<float>() == Floats{2, 3, 4});
  graph.replay();
  CHECK(out.to_host<float>() == Floats{11, 21, 31});
  CHECK(first.to_host<float>() == Floats{2, 3, 4});
  // Another structure.
  Tensor total;
  graph.update([&] {
    out = (y * 2.0F).eval();
    total = (out - x).sum();
  });
  CHECK(graph.size() == 2);
  graph.replay();
  CHECK(total.item() == 114);
  const GraphCounters& counters = device.counters().graphs;
  CHECK(counters.updated + counters.rebuilt == 2);
  // What throws changes nothing.
  CHECK_THROWS_AS(graph.update([&] {
    total = (x + 100.0F).sum();
    throw std::out_of_range("out of the work");
  }),
                  std::out_of_range);
  CHECK(graph.size() == 2);
  assign(x, on(device, {0, 0, 0}));
  graph.replay();
  CHECK(out.to_host<float>() == Floats{20, 40, 60});
  CHECK(counters.updated + counters.rebuilt == 2);
  CHECK(counters.live == 1);
}

inline void check_replays_without_growth(Device& device, int replays) {
  const Tensor x = on(device, {1, 2, 3, 4});
  const Tensor steps = on(device, {0});
  const std::uint64_t blocks = device.pool().stats().allocations.live;
  Tensor out;
  const Graph graph = capture(device, [&] {
    for (int i = 0; i < 10; ++i) out = ((x + 1.0F).eval() * 2.0F).eval();
    assign(steps, steps + 1.0F);
  });
  graph.replay();
  device.synchronize();
  const GraphFootprint before(device);
  for (int i = 1; i < replays; ++i) graph.replay();
  device.synchronize();
  CHECK(GraphFootprint(device) == before);
  CHECK(steps.item() == static_cast<float>(replays));
  CHECK(out.to_host<float>() == Floats{4, 6, 8, 10});
  // Temporaries were reused inside of the capture.
  CHECK(graph.size() == 21);
  CHECK(before.blocks <= blocks + 2);
}

inline void check_drop_orders(Device& device) {
  std::vector<int> order{0, 1, 2};
  do {
    const Tensor x = on(device, {1, 2, 3});
    std::vector<Graph> graphs(3);
    std::vector<Tensor> outs(3);
    // Each but the first reads what the one before writes.
    for (std::size_t i = 0; i < graphs.size(); ++i) {
      graphs[i] = capture(device, [&] { outs[i] = ((i == 0 ? x : outs[i - 1]) + 1.0F).eval(); });
    }
    for (const int gone : order) {
      for (const Graph& graph : graphs) {
        if (graph.defined()) graph.replay();
      }
      CHECK(outs[2].to_host<float>() == Floats{4, 5, 6});
      graphs[static_cast<std::size_t>(gone)] = {};
      CHECK(device.pool().validate() == "");
    }
    CHECK(outs[0].to_host<float>() == Floats{2, 3, 4});
  } while (std::next_permutation(order.begin(), order.end()));
  CHECK(device.counters().graphs.live == 0);
}

inline void check_other_work(Device& device) {
  const Tensor a = on(device, {1, 2, 3, 4, 5, 6}).reshape({2, 3});
  const Tensor b = on(device, {1, 0, 0, 1, 1, 1}).reshape({3, 2});
  const Tensor copy = on(device, {0, 0, 0, 0});
  Tensor product, shifted, joined, ramp, total;
  (void)matmul(a, b);  // plans are made before a capture
  const Graph graph = capture(device, [&] {
    product = matmul(a, b);
    assign(copy, product.reshape({4}));
    shifted = (product.transpose() + full({2, 2}, 1.0F, device)).eval();
    joined = cat(std::array{narrow(copy, 0, 1, 2), copy}, 0);
    ramp = (arange(4, 0, -1, device, DType::f32) * copy).eval();
    total = greater(joined, 4).sum();
  });
  graph.replay();
  CHECK(product.to_host<float>() == Floats{4, 5, 10, 11});
  CHECK(copy.to_host<float>() == Floats{4, 5, 10, 11});
  CHECK(shifted.to_host<float>() == Floats{5, 11, 6, 12});
  CHECK(joined.to_host<float>() == Floats{5, 10, 4, 5, 10, 11});
  CHECK(ramp.to_host<float>() == Floats{16, 15, 20, 11});
  CHECK(total.item<std::int64_t>() == 5);
  assign(a.reshape({6}), on(device, {0, 0, 0, 1, 1, 1}));
  graph.replay();
  CHECK(copy.to_host<float>() == Floats{0, 0, 2, 2});
  CHECK(joined.to_host<float>() == Floats{0, 2, 0, 0, 2, 2});
  CHECK(ramp.to_host<float>() == Floats{0, 0, 4, 2});
  CHECK(total.item<std::int64_t>() == 0);
}

}  // namespace forebay::testing
