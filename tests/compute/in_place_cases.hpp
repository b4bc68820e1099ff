// What is pending sees the values from before a write in place, on any device.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "compute/node.hpp"
#include "forebay/compute/graph.hpp"
#include "forebay/compute/in_place.hpp"
#include "forebay/compute/shaping.hpp"
#include "tests/support/catch.hpp"

namespace forebay::testing {

/// A part of a tensor [4, 6], to read it by or to write it by.
struct Part {
  const char* name;
  Tensor (*of)(const Tensor&);
};
inline constexpr Part kParts[] = {
    {"whole", [](const Tensor& t) { return t; }},
    {"rows", [](const Tensor& t) { return narrow(t, 0, 1, 2); }},
    {"columns", [](const Tensor& t) { return narrow(t, 1, 2, 3); }},
    {"transposed", [](const Tensor& t) { return t.transpose(); }},
    {"backwards", [](const Tensor& t) { return flip(t, 1); }},
    {"flat", [](const Tensor& t) { return t.reshape({24}); }},
};

/// A write in place.
struct Write {
  const char* name;
  std::function<void(const Tensor&)> to;
};
inline std::vector<Write> writes_in_place(Device& device) {
  const auto like = [&device](const Tensor& t) { return full(t.shape(), 3.0F, device).eval(); };
  return {
      {"add_", [](const Tensor& t) { add_(t, 1); }},
      {"mul_", [like](const Tensor& t) { mul_(t, like(t)); }},
      {"neg_", [](const Tensor& t) { neg_(t); }},
      {"exp_", [](const Tensor& t) { exp_(t); }},
      {"less_", [](const Tensor& t) { less_(t, 7); }},
      {"logical_not_", [](const Tensor& t) { logical_not_(t); }},
      {"fma_", [like](const Tensor& t) { fma_(t, like(t), t); }},
      {"clamp_", [](const Tensor& t) { clamp_(t, 3, 5); }},
      {"fill_", [](const Tensor& t) { fill_(t, 9); }},
      {"masked_fill_", [](const Tensor& t) { masked_fill_(t, greater(t, 4), -1); }},
      {"copy_", [](const Tensor& t) { copy_(t, narrow(t, 0, 0, 1)); }},
      {"uniform_", [](const Tensor& t) { uniform_(t, 7); }},
      {"assign of an expression", [](const Tensor& t) { assign(t, t * t - 1.0F); }},
      {"assign of storage", [like](const Tensor& t) { assign(t, like(t)); }},
      {"several", [](const Tensor& t) { add_(t, 1), mul_(t, 2), add_(t, t); }},
  };
}

inline Tensor counted(Device& device) {
  std::vector<float> values(24);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 9) + 0.5F;
  return from_host<float>(values, {4, 6}, device);
}

/// Every reader of every part, before every kind of write to every part.
inline void check_pending_readers(Device& device) {
  using Reader = Tensor (*)(const Tensor&);
  constexpr Reader kReaders[] = {
      [](const Tensor& t) { return t * 2.0F; },
      [](const Tensor& t) { return abs(-(t + 1.0F)) * t; },
      [](const Tensor& t) { return where(greater(t, 4), t, t + t); },
      [](const Tensor& t) { return (t + 1.0F).to(DType::f64).to(DType::f32); },
  };
  for (const Write& write : writes_in_place(device)) {
    for (const Part& target : kParts) {
      for (const Part& source : kParts) {
        INFO(write.name << " to " << target.name << " read by " << source.name << " on "
                        << device.id());
        const Tensor x = counted(device);
        std::vector<std::vector<float>> wanted;
        std::vector<Tensor> pending;
        for (const Reader reader : kReaders) {
          wanted.push_back(reader(source.of(x)).to_host<float>());
          pending.push_back(reader(source.of(x)));
        }
        // One that is held through another one alone, one that is held besides.
        wanted.push_back((pending[0] + 1.0F).to_host<float>());
        pending[0] = source.of(x) * 2.0F;
        pending.push_back(pending[0] + 1.0F);
        wanted.push_back((source.of(x) * 3.0F + 1.0F).to_host<float>());
        pending.push_back(source.of(x) * 3.0F + 1.0F);

        const Tensor alone = target.of(counted(device));
        write.to(alone);
        const std::vector<float> written = alone.to_host<float>();
        write.to(target.of(x));
        CHECK(target.of(x).to_host<float>() == written);
        for (std::size_t i = 0; i < pending.size(); ++i) {
          INFO("reader " << i);
          CHECK(pending[i].to_host<float>() == wanted[i]);
        }
      }
    }
  }
}

/// Values that are written, and that somebody holds, whole or in part.
inline void check_held_values(Device& device) {
  for (const Part& part : kParts) {
    INFO(part.name << " on " << device.id());
    const auto start = [&] { return part.of(counted(device)); };
    {
      const Tensor t = start();
      const std::vector<float> twice = (t * 2.0F).to_host<float>();
      const Tensor v = t * 2.0F;
      const Tensor of_it = v + 1.0F;
      assign(t, v);
      CHECK(t.to_host<float>() == twice);
      CHECK(v.to_host<float>() == twice);
      CHECK(of_it.to_host<float>() == (t + 1.0F).to_host<float>());
      assign(t, v);
      CHECK(t.to_host<float>() == twice);
    }
    {
      const Tensor t = start();
      const std::vector<float> sum = (t + 1.0F).to_host<float>();
      const std::vector<float> square = ((t + 1.0F) * (t + 1.0F)).to_host<float>();
      const Tensor inner = t + 1.0F;
      assign(t, inner * inner);
      CHECK(t.to_host<float>() == square);
      CHECK(inner.to_host<float>() == sum);
    }
    {  // more of them than one launch stores
      const Tensor t = start();
      std::vector<Tensor> inner;
      std::vector<std::vector<float>> wanted;
      Tensor sum = t + 1.0F;
      for (int i = 0; i < 24; ++i) {
        inner.push_back(t * static_cast<float>(i) + static_cast<float>(i));
        wanted.push_back((t * static_cast<float>(i) + static_cast<float>(i)).to_host<float>());
        sum = sum + inner.back();
      }
      assign(t, std::move(sum));
      for (std::size_t i = 0; i < inner.size(); ++i) {
        CHECK(inner[i].to_host<float>() == wanted[i]);
      }
    }
    {  // the value is a part of what else is pending
      const Tensor t = start();
      Tensor v = t * 2.0F;
      const std::vector<float> wanted = (v - 3.0F).to_host<float>();
      v = t * 2.0F;
      const Tensor beyond = v - 3.0F;
      assign(t, std::move(v));
      CHECK(beyond.to_host<float>() == wanted);
    }
    {  // a held value of other memory stays an expression, and its inputs what they are
      const Tensor t = start();
      Tensor given = t + 0.0F;
      given.eval();
      const Tensor product = given * 2.0F;
      const Tensor v = product + given;
      given = Tensor();
      const std::vector<float> wanted = (t * 2.0F + t).to_host<float>();
      assign(t, v);
      CHECK(t.to_host<float>() == wanted);
      CHECK(v.to_host<float>() == wanted);
    }
  }
  // Numbers that become storage only as they are written.
  const Tensor ones = full({3}, 1.0F, device);
  const Tensor view = narrow(ones, 0, 1, 2);
  const Tensor b = from_host<float>(std::vector<float>{10, 20}, {2}, device);
  const Tensor by_view = view + b;
  const Tensor by_whole = ones + from_host<float>(std::vector<float>{1, 2, 3}, {3}, device);
  fill_(ones, 5);
  CHECK(view.to_host<float>() == std::vector<float>{5, 5});
  CHECK((view * 1.0F).to_host<float>() == std::vector<float>{5, 5});
  CHECK(by_view.to_host<float>() == std::vector<float>{11, 21});
  CHECK(by_whole.to_host<float>() == std::vector<float>{2, 3, 4});
}

/// A graph's writes are writes, when they are captured and in each replay.
inline void check_pending_readers_of_graphs(Device& device) {
  const Tensor x = from_host<float>(std::vector<float>{1, 2}, {2}, device);
  const Tensor from_before = x * 10.0F;
  Tensor inside, out;
  const Graph graph = capture(device, [&] {
    const Tensor reader = x * 2.0F;
    add_(x, 1);
    inside = reader + from_before;
    inside.eval();
    out = x * 3.0F;
    out.eval();
  });
  const Tensor reader = x * 100.0F;
  CHECK(x.to_host<float>() == std::vector<float>{1, 2});
  graph.replay();
  CHECK(x.to_host<float>() == std::vector<float>{2, 3});
  CHECK(reader.to_host<float>() == std::vector<float>{100, 200});
  CHECK(from_before.to_host<float>() == std::vector<float>{10, 20});
  CHECK(inside.to_host<float>() == std::vector<float>{12, 24});
  CHECK(out.to_host<float>() == std::vector<float>{6, 9});
  const Tensor of_output = out + 1.0F;
  graph.replay();
  CHECK(of_output.to_host<float>() == std::vector<float>{7, 10});
  CHECK(out.to_host<float>() == std::vector<float>{9, 12});

  // What the function leaves follows the replays, what is built on it outside does not.
  Tensor left;
  Graph another = capture(device, [&] {
    add_(x, 1);
    left = (x * 10.0F).eval() + 1.0F;
  });
  another.replay();
  another.replay();
  const Tensor on_it = left * 2.0F;
  another.replay();
  CHECK(on_it.to_host<float>() == std::vector<float>{102, 122});
  another.update([&] {
    add_(x, 1);
    left = (x * 10.0F).eval() + 1.0F;
  });
  another.replay();
  another.replay();
  CHECK(left.to_host<float>() == std::vector<float>{81, 91});
}

/// Tensors, parts of them, lazy values and writes in place, drawn from a seed, beside a model that
/// does everything at once. All numbers are i32, which wrap.
class InPlaceGame {
 public:
  InPlaceGame(Device& device, unsigned seed) : device_(device), random_(seed) {}

  /// Empty, or what is not as in the model.
  [[nodiscard]] std::string play(int steps) {
    for (int i = 0; i < 3; ++i) values_.push_back(fresh());
    for (int i = 0; i < steps; ++i) {
      step();
      if (below(10) == 0) values_[below(values_.size())].tensor.eval();
      if (values_.size() > 14) values_.erase(values_.begin() + place());
    }
    for (const Value& value : values_) {
      if (value.tensor.to_host<std::int32_t>() != value.numbers()) return "a value differs";
    }
    return {};
  }

 private:
  static constexpr std::int64_t kSide = 5;

  struct Value {
    Tensor tensor;
    std::shared_ptr<std::vector<std::int32_t>> memory;
    std::vector<std::size_t> where;  // of each element
    [[nodiscard]] std::vector<std::int32_t> numbers() const {
      std::vector<std::int32_t> all;
      for (const std::size_t place : where) all.push_back((*memory)[place]);
      return all;
    }
  };

  std::size_t below(std::size_t n) { return random_() % n; }
  std::ptrdiff_t place() { return static_cast<std::ptrdiff_t>(below(values_.size())); }
  static std::int32_t wrapped(std::int64_t value) { return static_cast<std::int32_t>(value); }

  static Value own(Tensor tensor, std::vector<std::int32_t> numbers) {
    Value value{std::move(tensor), {}, {}};
    for (std::size_t i = 0; i < numbers.size(); ++i) value.where.push_back(i);
    value.memory = std::make_shared<std::vector<std::int32_t>>(std::move(numbers));
    return value;
  }

  Value fresh() {
    std::vector<std::int32_t> numbers;
    for (std::int64_t i = 0; i < kSide * kSide; ++i) {
      numbers.push_back(static_cast<std::int32_t>(below(1000)));
    }
    return own(from_host<std::int32_t>(numbers, {kSide, kSide}, device_), numbers);
  }

  template <typename Number>
  static std::vector<std::int32_t> each(const Value& a, const Value& b, Number number) {
    std::vector<std::int32_t> x = a.numbers();
    const std::vector<std::int32_t> y = b.numbers();
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = wrapped(number(x[i], y[i]));
    return x;
  }

  using Wide = std::int64_t;
  // A value of two others; the result is not evaluated.
  std::pair<Tensor, std::vector<std::int32_t>> drawn(const Value& a, const Value& b) {
    switch (below(5)) {
      case 0:
        return {a.tensor + b.tensor, each(a, b, [](Wide x, Wide y) { return x + y; })};
      case 1:
        return {a.tensor * 3 - b.tensor, each(a, b, [](Wide x, Wide y) { return x * 3 - y; })};
      case 2:
        return {maximum(a.tensor, b.tensor),
                each(a, b, [](Wide x, Wide y) { return x > y ? x : y; })};
      case 3:
        return {(a.tensor ^ 21) + 1, each(a, b, [](Wide x, Wide) { return (x ^ 21) + 1; })};
      default:
        return {where(greater(a.tensor, b.tensor), -a.tensor, b.tensor),
                each(a, b, [](Wide x, Wide y) { return x > y ? -x : y; })};
    }
  }

  void step() {
    const Value a = values_[below(values_.size())];
    const Value b = values_[below(values_.size())];
    switch (below(8)) {
      case 0:
      case 1:
      case 2: {
        auto [tensor, numbers] = drawn(a, b);
        values_.push_back(own(std::move(tensor), std::move(numbers)));
        return;
      }
      case 3:
        values_.push_back(view_of(a));
        return;
      case 4: {  // a part of one is given to the other
        const Value rows = rows_of(a);
        const Value from = rows_of(b);
        write(rows, from.numbers());
        copy_(rows.tensor, from.tensor);
        return;
      }
      case 5: {
        auto [tensor, numbers] = drawn(a, b);
        if (below(2) == 0) values_.push_back(own(tensor, numbers));
        write(a, numbers);
        assign(a.tensor, tensor);
        return;
      }
      case 6: {
        auto [tensor, numbers] = drawn(b, a);
        write(a, numbers);
        assign(a.tensor, std::move(tensor));
        return;
      }
      default: {
        const Value part = rows_of(a);
        std::vector<std::int32_t> numbers = part.numbers();
        const bool adds = below(2) == 0;
        for (std::int32_t& n : numbers) n = wrapped(adds ? Wide{n} + 7 : -Wide{n});
        write(part, numbers);
        adds ? add_(part.tensor, 7) : neg_(part.tensor);
      }
    }
  }

  static void write(const Value& target, const std::vector<std::int32_t>& numbers) {
    for (std::size_t i = 0; i < numbers.size(); ++i) (*target.memory)[target.where[i]] = numbers[i];
  }

  Value view_of(const Value& a) {
    Value view{{}, a.memory, a.where};
    const std::size_t side = kSide;
    const std::size_t kind = below(3);
    for (std::size_t r = 0; r < side; ++r) {
      for (std::size_t c = 0; c < side; ++c) {
        view.where[r * side + c] = a.where[kind == 0   ? c * side + r
                                           : kind == 1 ? r * side + (side - 1 - c)
                                                       : (side - 1 - r) * side + c];
      }
    }
    view.tensor = kind == 0 ? a.tensor.transpose() : flip(a.tensor, kind == 1 ? 1 : 0);
    return view;
  }

  Value rows_of(const Value& a) {
    const std::size_t first = below(kSide - 1);
    Value part{narrow(a.tensor, 0, static_cast<std::int64_t>(first), 2), a.memory, {}};
    for (std::size_t i = 0; i < 2 * kSide; ++i) part.where.push_back(a.where[first * kSide + i]);
    return part;
  }

  Device& device_;
  std::mt19937 random_;
  std::vector<Value> values_;
};

inline void check_in_place_games(Device& device, unsigned first, unsigned count) {
  for (unsigned seed = first; seed < first + count; ++seed) {
    INFO("seed " << seed << " on " << device.id());
    REQUIRE(InPlaceGame(device, seed).play(static_cast<int>(10 + seed % 60)) == "");
  }
}

}  // namespace forebay::testing
