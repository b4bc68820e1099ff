// Random programs of tensors, captures, replays and drops, against a model that is plain vectors.
#pragma once

#include <array>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <vector>

#include "forebay/compute/graph.hpp"
#include "forebay/compute/shaping.hpp"
#include "forebay/compute/tensor.hpp"
#include "tests/support/catch.hpp"

namespace forebay::testing {

/// One device, driven step by step. `computes`: kernels do what they say, as on all devices but the
/// fake one, where only copies are done.
class GraphProgram {
 public:
  GraphProgram(Device& device, unsigned seed, bool computes)
      : device_(device), random_(seed), computes_(computes) {
    for (int i = 0; i < 4; ++i) add_tensor();
    // What is made once, whatever the program.
    (void)capture(device_, [&] {});
    made_once_ = device_.pool().stats().allocations.live - tensors_.size();
  }

  void step() {
    switch (pick(12)) {
      case 0:
        return add_tensor();
      case 1:
        return drop(tensors_, 4);
      case 2:
      case 3:
        if (graphs_.size() < 6) add_graph();
        return;
      case 4:
        return drop(graphs_, 0);
      case 5:
        return throw_out();
      case 6:
        if (!graphs_.empty()) update(graphs_[pick(graphs_.size())]);
        return;
      case 7:
        if (pick(8) == 0) device_.pool().trim();
        return;
      case 8:
        return check(tensors_[pick(tensors_.size())]);
      case 9: {
        Variables variables = tensors_;
        Calls done;
        (void)work(variables, done, 3);
        run(done);
        return;
      }
      default:
        if (graphs_.empty()) return;
        const Replayed& graph = graphs_[pick(graphs_.size())];
        graph.graph.replay();
        run(graph.calls);
    }
  }

  void finish() {
    for (const Variable& variable : tensors_) check(variable);
    while (!graphs_.empty()) drop(graphs_, 0);
    for (const Variable& variable : tensors_) check(variable);
    tensors_.clear();
    REQUIRE(device_.pool().validate() == "");
    REQUIRE(device_.pool().stats().allocations.live == made_once_);
    REQUIRE(device_.counters().graphs.live == 0);
  }

 private:
  static constexpr std::size_t kElements = 3;
  using Values = std::array<float, kElements>;
  /// What a piece of memory holds; nothing that anybody may read until it was written.
  using Cell = std::shared_ptr<std::optional<Values>>;
  struct Variable {
    Tensor tensor;
    Cell cell;
  };
  using Variables = std::vector<Variable>;
  using Calls = std::vector<std::function<void()>>;
  struct Replayed {
    Graph graph;
    Calls calls;
  };

  std::size_t pick(std::size_t below) { return random_() % below; }
  static Cell nothing() { return std::make_shared<std::optional<Values>>(); }
  static void run(const Calls& calls) {
    for (const auto& call : calls) call();
  }

  template <typename T>
  void drop(std::vector<T>& from, std::size_t least) {
    if (from.size() <= least) return;
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(pick(from.size())));
  }

  void add_tensor() {
    Variable made{Tensor(), nothing()};
    const std::size_t kind = computes_ && !tensors_.empty() ? pick(4) : 0;
    if (kind == 0) {
      Values values{};
      for (float& value : values) value = static_cast<float>(pick(100));
      *made.cell = values;
      made.tensor = from_host<float>(values, {kElements}, device_);
    } else if (kind == 1) {
      const Variable& a = tensors_[pick(tensors_.size())];
      const Variable& b = tensors_[pick(tensors_.size())];
      made.tensor = mean_of(a, b);
      *made.cell = sum(*a.cell, *b.cell);
    } else {
      made = number(kind == 2);
    }
    tensors_.push_back(std::move(made));
  }

  /// Lazy; `sum` is what it means to the cells.
  static Tensor mean_of(const Variable& a, const Variable& b) {
    return (a.tensor + b.tensor) * 0.5F;
  }
  /// One number in every element: a constant, or a view of a larger one.
  Variable number(bool whole) {
    const auto value = static_cast<float>(pick(100));
    Values values{};
    values.fill(value);
    const std::int64_t extent = whole ? kElements : kElements + 4;
    Tensor tensor = full({extent}, value, device_);
    if (!whole) tensor = flip(narrow(tensor, 0, 2, kElements), 0);
    return {std::move(tensor), std::make_shared<std::optional<Values>>(values)};
  }

  void check(const Variable& variable) const {
    if (!variable.cell->has_value()) return;
    const std::vector<float> got = variable.tensor.to_host<float>();
    REQUIRE(std::equal(got.begin(), got.end(), (*variable.cell)->begin()));
  }

  static std::optional<Values> sum(const std::optional<Values>& a, const std::optional<Values>& b) {
    if (!a || !b) return std::nullopt;
    Values result{};
    // Small again, so that numbers stay exact.
    for (std::size_t i = 0; i < kElements; ++i) result[i] = ((*a)[i] + (*b)[i]) * 0.5F;
    return result;
  }

  /// Some operations on variables; says in `calls` what they do to the cells, and returns what it
  /// made and did not drop again.
  Variables work(Variables& variables, Calls& calls, std::size_t most) {
    const std::size_t before = variables.size();
    for (std::size_t i = pick(most) + 1; i-- > 0;) {
      const Variable from = variables[pick(variables.size())];
      const Variable other = variables[pick(variables.size())];
      switch (pick(computes_ ? 7 : 3)) {
        case 0:
          assign(other.tensor, from.tensor);
          calls.emplace_back([to = other.cell, of = from.cell] { *to = *of; });
          break;
        case 1: {
          Variable made{empty({kElements}, device_), nothing()};
          assign(made.tensor, from.tensor);
          calls.emplace_back([to = made.cell, of = from.cell] { *to = *of; });
          variables.push_back(std::move(made));
          break;
        }
        case 2:
          if (variables.size() > before) {
            variables.erase(variables.begin() +
                            static_cast<std::ptrdiff_t>(before + pick(variables.size() - before)));
          }
          break;
        case 3:
        case 4: {
          Variable made{mean_of(from, other), nothing()};
          if (pick(2) == 0) made.tensor.eval();
          calls.emplace_back(
              [to = made.cell, a = from.cell, b = other.cell] { *to = sum(*a, *b); });
          variables.push_back(std::move(made));
          break;
        }
        case 5: {
          Variable made = number(pick(2) == 0);
          calls.emplace_back([to = made.cell, values = *made.cell] { *to = values; });
          made.cell->reset();
          variables.push_back(std::move(made));
          break;
        }
        default:
          assign(other.tensor, (other.tensor + from.tensor) * 0.5F);
          calls.emplace_back([to = other.cell, of = from.cell] { *to = sum(*to, *of); });
      }
    }
    return {variables.begin() + static_cast<std::ptrdiff_t>(before), variables.end()};
  }

  /// The work of a graph; one of its results may stay as a variable.
  std::function<void()> captured(Calls& calls, Variables& outputs) {
    return [this, &calls, &outputs] {
      Variables variables = tensors_;
      outputs = work(variables, calls, 12);
    };
  }
  void keep_one(Variables outputs) {
    if (outputs.empty() || tensors_.size() > 20) return;
    tensors_.push_back(std::move(outputs[pick(outputs.size())]));
  }

  void add_graph() {
    Replayed made;
    Variables outputs;
    made.graph = capture(device_, captured(made.calls, outputs));
    graphs_.push_back(std::move(made));
    keep_one(std::move(outputs));
  }

  void update(Replayed& graph) {
    Calls calls;
    Variables outputs;
    graph.graph.update(captured(calls, outputs));
    graph.calls = std::move(calls);
    keep_one(std::move(outputs));
  }

  /// A capture that comes to nothing, of a graph of its own or in place of another.
  void throw_out() {
    Calls calls;
    Variables outputs;
    const std::function<void()> inner = captured(calls, outputs);
    const auto broken = [&] {
      inner();
      throw std::out_of_range("broken");
    };
    if (graphs_.empty() || pick(2) == 0) {
      REQUIRE_THROWS_AS(capture(device_, broken), std::out_of_range);
    } else {
      Graph& graph = graphs_[pick(graphs_.size())].graph;
      REQUIRE_THROWS_AS(graph.update(broken), std::out_of_range);
    }
  }

  Device& device_;
  std::mt19937 random_;
  const bool computes_;
  std::uint64_t made_once_ = 0;
  Variables tensors_;
  std::vector<Replayed> graphs_;
};

}  // namespace forebay::testing
