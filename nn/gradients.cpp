#include "nn/gradients.hpp"

#include <vector>

#include "forebay/compute/math.hpp"
#include "forebay/compute/shaping.hpp"

namespace forebay::nn {
namespace {

using compute::Action;
using compute::Op;

Tensor zero(const Tensor& like) { return full(Dims{}, 0.0F, like.device()); }

// The gradient where `first` wins, half of it where the two are equal.
Tensor to_winner(Tensor first_wins, Tensor equal, Tensor g) {
  Tensor half = where(std::move(equal), g * 0.5F, zero(g));
  return where(std::move(first_wins), std::move(g), std::move(half));
}

// The gradient of a reduction's result in a shape that broadcasts to its input's.
Tensor unreduce(const Operation& op, Tensor g) {
  if (g.rank() == 0) return g;
  Dims kept = op.input_shape(0);
  for (std::size_t d = 0; d < kept.size(); ++d) {
    if ((op.axes() & (1U << d)) != 0) kept[d] = 1;
  }
  return expand(std::move(g), op.shape()).reshape(kept);
}

std::vector<int> axes_of(const Operation& op) {
  std::vector<int> axes;
  for (int d = 0; d < static_cast<int>(kMaxRank); ++d) {
    if ((op.axes() & (1U << d)) != 0) axes.push_back(d);
  }
  return axes;
}

// All elements that a minimum or maximum is equal to share its gradient.
Tensor to_extremes(const Operation& op, Tensor g) {
  const Tensor x = op.input(0);
  const Tensor wins = logical_or(equal(x, unreduce(op, op.output())), isnan(x));
  const Tensor winners = wins.to(g.dtype()).sum(axes_of(op), true);
  return where(wins, unreduce(op, g) / winners, zero(g));
}

// The product of the others: by division, unless a factor is 0.
Tensor to_factors(const Operation& op, Tensor g) {
  const Tensor x = op.input(0);
  const std::vector<int> axes = axes_of(op);
  const Tensor none = equal(x, 0);
  const Tensor rest = where(none, full(Dims{}, 1.0F, x.device()), x).prod(axes, true);
  const Tensor zeros = none.to(DType::f32);
  const Tensor zeros_beside = zeros.sum(axes, true) - zeros;
  const Tensor others = where(none, rest, rest / x);
  return unreduce(op, std::move(g)) * where(equal(zeros_beside, 0), others, zero(x));
}

// The gradient of a part: zeros around it.
Tensor to_whole(const Operation& op, Tensor g) {
  const int axis = axes_of(op).front();
  const auto d = static_cast<std::size_t>(axis);
  Dims before = op.shape();
  Dims after = op.shape();
  before[d] = op.start(0);
  after[d] = op.input_shape(0)[d] - op.start(0) - op.shape()[d];
  const DType type = g.dtype();
  g = expand(std::move(g), op.shape());
  std::vector<Tensor> parts;
  if (before[d] != 0) parts.push_back(zeros(before, g.device(), type));
  parts.push_back(std::move(g));
  if (after[d] != 0) parts.push_back(zeros(after, parts.back().device(), type));
  return parts.size() == 1 ? parts.front() : cat(parts, axis);
}

// Input i's part of the gradient.
template <std::size_t i>
Tensor to_part(const Operation& op, Tensor g) {
  const int axis = axes_of(op).front();
  const std::int64_t length = op.input_shape(i)[static_cast<std::size_t>(axis)];
  return narrow(expand(std::move(g), op.shape()), axis, op.start(i), length);
}

// Matrix products are made in the layout in which the operand is stored, so that undoing a
// transpose costs nothing and the gradient of a weight is contiguous.
Tensor left_gradient(const Operation& op, const Tensor& g) {
  const Tensor b = op.input(1);
  return op.input_is_transposed(0) ? matmul(b, g.transpose()).transpose()
                                   : matmul(g, b.transpose());
}
Tensor right_gradient(const Operation& op, const Tensor& g) {
  const Tensor a = op.input(0);
  return op.input_is_transposed(1) ? matmul(g.transpose(), a).transpose()
                                   : matmul(a.transpose(), g);
}

constexpr auto pass = [](const Operation&, Tensor g) { return g; };

const GradientRule* elementwise_rule(Op op) noexcept {
  switch (op) {
    case Op::neg: {
      static constexpr GradientRule kRule{
          .gradient = {[](const Operation&, Tensor g) { return -std::move(g); }}};
      return &kRule;
    }
    case Op::exp: {
      static constexpr GradientRule kRule{
          .gradient = {[](const Operation& o, Tensor g) { return std::move(g) * o.output(); }},
          .needs = {kOutput}};
      return &kRule;
    }
    case Op::log: {
      static constexpr GradientRule kRule{
          .gradient = {[](const Operation& o, Tensor g) { return std::move(g) / o.input(0); }},
          .needs = {kFirst}};
      return &kRule;
    }
    case Op::sqrt: {
      static constexpr GradientRule kRule{.gradient = {[](const Operation& o, Tensor g) {
                                            return std::move(g) * 0.5F / o.output();
                                          }},
                                          .needs = {kOutput}};
      return &kRule;
    }
    case Op::relu: {
      // The output is its own mask: it is 0 exactly where nothing flows.
      static constexpr GradientRule kRule{.gradient = {[](const Operation& o, Tensor g) {
                                            Tensor none = zero(g);
                                            return where(o.output(), std::move(g), std::move(none));
                                          }},
                                          .needs = {kOutput}};
      return &kRule;
    }
    case Op::to_f64:
    case Op::to_f32:
    case Op::to_f16:
    case Op::to_bf16: {
      static constexpr GradientRule kRule{.gradient = {pass}};
      return &kRule;
    }
    case Op::add: {
      static constexpr GradientRule kRule{.gradient = {pass, pass}};
      return &kRule;
    }
    case Op::sub: {
      static constexpr GradientRule kRule{
          .gradient = {pass, [](const Operation&, Tensor g) { return -std::move(g); }}};
      return &kRule;
    }
    case Op::mul: {
      static constexpr GradientRule kRule{
          .gradient = {[](const Operation& o, Tensor g) { return std::move(g) * o.input(1); },
                       [](const Operation& o, Tensor g) { return std::move(g) * o.input(0); }},
          .needs = {kSecond, kFirst}};
      return &kRule;
    }
    case Op::div: {
      static constexpr GradientRule kRule{
          .gradient = {[](const Operation& o, Tensor g) { return std::move(g) / o.input(1); },
                       [](const Operation& o, Tensor g) {
                         return -(std::move(g) * o.output()) / o.input(1);
                       }},
          .needs = {kSecond, kSecond | kOutput}};
      return &kRule;
    }
    case Op::min: {
      static constexpr GradientRule kRule{
          .gradient = {[](const Operation& o, Tensor g) {
                         return to_winner(greater(o.input(1), o.input(0)),
                                          equal(o.input(0), o.input(1)), std::move(g));
                       },
                       [](const Operation& o, Tensor g) {
                         return to_winner(greater(o.input(0), o.input(1)),
                                          equal(o.input(0), o.input(1)), std::move(g));
                       }},
          .needs = {kFirst | kSecond, kFirst | kSecond}};
      return &kRule;
    }
    case Op::max: {
      static constexpr GradientRule kRule{
          .gradient = {[](const Operation& o, Tensor g) {
                         return to_winner(greater(o.input(0), o.input(1)),
                                          equal(o.input(0), o.input(1)), std::move(g));
                       },
                       [](const Operation& o, Tensor g) {
                         return to_winner(greater(o.input(1), o.input(0)),
                                          equal(o.input(0), o.input(1)), std::move(g));
                       }},
          .needs = {kFirst | kSecond, kFirst | kSecond}};
      return &kRule;
    }
    case Op::select: {
      static constexpr GradientRule kRule{
          .gradient = {nullptr,
                       [](const Operation& o, Tensor g) {
                         Tensor none = zero(g);
                         return where(o.input(0), std::move(g), std::move(none));
                       },
                       [](const Operation& o, Tensor g) {
                         Tensor none = zero(g);
                         return where(o.input(0), std::move(none), std::move(g));
                       }},
          .needs = {kNothing, kFirst, kFirst}};
      return &kRule;
    }
    default:
      return math_rule(op);
  }
}

}  // namespace

const GradientRule* find_rule(Action action, Op op) noexcept {
  switch (action) {
    case Action::elementwise:
      return elementwise_rule(op);
    case Action::sum: {
      static constexpr GradientRule kRule{.gradient = {unreduce}, .elementwise = false};
      return &kRule;
    }
    case Action::mean: {
      static constexpr GradientRule kRule{
          .gradient = {[](const Operation& o, Tensor g) {
            const auto elements = static_cast<float>(checked_numel(o.input_shape(0)));
            const auto results = static_cast<float>(checked_numel(o.shape()));
            return unreduce(o, std::move(g) / (elements / results));
          }},
          .elementwise = false};
      return &kRule;
    }
    case Action::prod: {
      static constexpr GradientRule kRule{
          .gradient = {to_factors}, .needs = {kFirst}, .elementwise = false};
      return &kRule;
    }
    case Action::extreme: {
      static constexpr GradientRule kRule{
          .gradient = {to_extremes}, .needs = {kFirst | kOutput}, .elementwise = false};
      return &kRule;
    }
    case Action::narrow: {
      static constexpr GradientRule kRule{.gradient = {to_whole}, .elementwise = false};
      return &kRule;
    }
    case Action::flip: {
      static constexpr GradientRule kRule{.gradient = {[](const Operation& o, Tensor g) {
                                            return flip(expand(std::move(g), o.shape()),
                                                        axes_of(o).front());
                                          }},
                                          .elementwise = false};
      return &kRule;
    }
    case Action::cat: {
      static constexpr GradientRule kRule{.gradient = {to_part<0>, to_part<1>, to_part<2>},
                                          .elementwise = false};
      return &kRule;
    }
    case Action::matmul: {
      static constexpr GradientRule kRule{
          .gradient = {[](const Operation& o, Tensor g) {
                         return left_gradient(o, expand(std::move(g), o.shape()));
                       },
                       [](const Operation& o, Tensor g) {
                         return right_gradient(o, expand(std::move(g), o.shape()));
                       }},
          .needs = {kSecond, kFirst},
          .elementwise = false};
      return &kRule;
    }
    case Action::reshape: {
      static constexpr GradientRule kRule{
          .gradient = {[](const Operation& o, Tensor g) {
            return expand(std::move(g), o.shape()).reshape(o.input_shape(0));
          }},
          .elementwise = false};
      return &kRule;
    }
    case Action::transpose: {
      static constexpr GradientRule kRule{.gradient = {[](const Operation& o, Tensor g) {
                                            const std::vector<int> axes = axes_of(o);
                                            g = expand(std::move(g), o.shape());
                                            return axes.size() == 2 ? g.transpose(axes[0], axes[1])
                                                                    : g;
                                          }},
                                          .elementwise = false};
      return &kRule;
    }
    case Action::other:
      return nullptr;
    case Action::broadcast: {
      static constexpr GradientRule kRule{.gradient = {pass}};
      return &kRule;
    }
  }
  return nullptr;
}

Tensor sum_to(Tensor gradient, const Dims& from, const Dims& shape) {
  if (from == shape) return gradient;
  gradient = expand(std::move(gradient), from);
  if (checked_numel(from) == checked_numel(shape)) return gradient.reshape(shape);
  const std::size_t lead = from.size() - shape.size();
  std::vector<int> axes;
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (d < lead || (shape[d - lead] == 1 && from[d] != 1)) axes.push_back(static_cast<int>(d));
  }
  if (axes.size() == lead) return std::move(gradient).sum(axes);
  return std::move(gradient).sum(axes, true).reshape(shape);
}

}  // namespace forebay::nn
