// Views of parts, and tensors put together from parts.
#include "forebay/compute/shaping.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iomanip>
#include <limits>
#include <sstream>

#include "compute/fold.hpp"
#include "compute/gather.hpp"
#include "compute/tensor_access.hpp"

namespace forebay {
namespace {

using compute::Action;
using compute::checked_axis;
using compute::Engine;
using compute::engine_of;
using compute::Node;
using compute::NodeRef;
using compute::record;

bool is_tracked(const Tensor& x) { return x.autograd() != nullptr; }

// Of a view of x along `axis`: one by steps is followed where it is all of x backwards.
Tensor recorded(const char* name, const Tensor& x, int axis, std::int64_t first, std::int64_t step,
                NodeRef node) {
  Tensor output(std::move(node));
  const bool whole = output.shape() == x.shape();
  record({.action = step == 1             ? Action::narrow
                    : step == -1 && whole ? Action::flip
                                          : Action::other,
          .inputs = {&x, 1},
          .output = output,
          .axes = {&axis, 1},
          .starts = {&first, 1},
          .name = name},
         output);
  return output;
}

// `count` elements along `axis` from `first` on, every `step`-th.
Tensor part(const char* name, const Tensor& x, int axis, std::int64_t first, std::int64_t count,
            std::int64_t step) {
  Engine& engine = engine_of(x);
  const std::lock_guard lock(engine.mutex());
  const auto d = static_cast<std::size_t>(axis);
  Dims shape = x.shape();
  shape[d] = count;
  const NodeRef node = x.node();
  if (!node->is(compute::NodeKind::constant)) engine.evaluate(node, compute::kEndConsumer);
  Dims strides = node->strides;
  const std::int64_t offset = count == 0 ? 0 : first * strides[d];
  strides[d] *= step;
  return recorded(name, x, axis, first, step, engine.view(node, shape, strides, offset));
}

[[noreturn]] void throw_part(const char* name, const Tensor& x, int axis, const std::string& what) {
  throw ShapeError(std::string(name) + ": " + what + " along axis " + std::to_string(axis) +
                   " of shape " + to_string(x.shape()));
}

// Of more tensors than one record holds, which copies elements once for each level of the tree.
Tensor cat_by_parts(std::span<const Tensor> tensors, int axis) {
  std::vector<Tensor> parts;
  const std::size_t length =
      (tensors.size() + compute::kMaxActionInputs - 1) / compute::kMaxActionInputs;
  for (std::size_t first = 0; first < tensors.size(); first += length) {
    parts.push_back(cat(tensors.subspan(first, std::min(length, tensors.size() - first)), axis));
  }
  return cat(parts, axis);
}

// ceil((to - from) / by), as many as a tensor may have and more. ShapeError unless `by` leads from
// one to the other.
template <typename Real>
std::int64_t steps_between(Real from, Real to, Real by) {
  const auto refuse = [&](const char* why) {
    std::ostringstream text;
    text << std::setprecision(std::numeric_limits<Real>::digits10);
    text << "arange from " << from << " to " << to << " by " << by << ": " << why;
    throw ShapeError(text.str());
  };
  if (!std::isfinite(from) || !std::isfinite(to) || !std::isfinite(by)) {
    refuse("not all are finite");
  }
  if (by == 0) refuse("the step is 0");
  if (to != from && (to > from) != (by > 0)) refuse("the step leads away from the end");
  const Real count = std::ceil((to - from) / by);
  if (count > Real{0x1p60}) refuse("more than 2^60 elements");
  return static_cast<std::int64_t>(count);
}

}  // namespace

Tensor narrow(const Tensor& x, int axis, std::int64_t start, std::int64_t length) {
  axis = checked_axis(axis, x.shape(), "narrow");
  const std::int64_t extent = x.shape()[static_cast<std::size_t>(axis)];
  const std::int64_t first = start < 0 ? start + extent : start;
  if (first < 0 || first > extent || length < 0 || length > extent - first) {
    throw_part("narrow", x, axis,
               "there are no " + std::to_string(length) + " elements from " +
                   std::to_string(start) + " on");
  }
  return part("narrow", x, axis, first, length, 1);
}

Tensor slice(const Tensor& x, int axis, std::int64_t start, std::int64_t stop, std::int64_t step) {
  axis = checked_axis(axis, x.shape(), "slice");
  const std::int64_t extent = x.shape()[static_cast<std::size_t>(axis)];
  if (step == 0) throw_part("slice", x, axis, "a step of 0 leads nowhere");
  // Where bounds outside go: to either end, or in front of the first element backwards.
  const std::int64_t low = step > 0 ? 0 : -1;
  const std::int64_t high = step > 0 ? extent : extent - 1;
  const auto bound = [&](std::int64_t at) {
    return std::clamp(at < 0 ? at + extent : at, low, high);
  };
  const std::int64_t first = bound(start);
  const std::int64_t last = stop == kSliceEnd ? (step > 0 ? extent : -1) : bound(stop);
  const std::int64_t distance = step > 0 ? last - first : first - last;
  const std::int64_t stride = step > 0 ? step : step == INT64_MIN ? INT64_MAX : -step;
  const std::int64_t count = distance <= 0 ? 0 : (distance - 1) / stride + 1;
  // One element has no step, and a wide step may not overflow.
  return part("slice", x, axis, first, count, count <= 1 ? 1 : step);
}

Tensor flip(const Tensor& x, int axis) {
  axis = checked_axis(axis, x.shape(), "flip");
  const std::int64_t extent = x.shape()[static_cast<std::size_t>(axis)];
  return part("flip", x, axis, extent - 1, extent, -1);
}

std::vector<Tensor> split(const Tensor& x, std::int64_t length, int axis) {
  axis = checked_axis(axis, x.shape(), "split");
  const std::int64_t extent = x.shape()[static_cast<std::size_t>(axis)];
  if (length <= 0) {
    throw_part("split", x, axis, "no pieces of " + std::to_string(length) + " elements");
  }
  std::vector<Tensor> pieces;
  for (std::int64_t at = 0;; at += length) {
    pieces.push_back(part("split", x, axis, at, std::min(length, extent - at), 1));
    if (length >= extent - at) return pieces;
  }
}

std::vector<Tensor> split(const Tensor& x, std::span<const std::int64_t> lengths, int axis) {
  axis = checked_axis(axis, x.shape(), "split");
  std::int64_t rest = x.shape()[static_cast<std::size_t>(axis)];
  for (const std::int64_t length : lengths) {
    if (length < 0 || length > rest) {
      throw_part("split", x, axis,
                 "no piece of " + std::to_string(length) + " in the last " + std::to_string(rest));
    }
    rest -= length;
  }
  if (rest != 0) {
    throw_part("split", x, axis, "the last " + std::to_string(rest) + " are left over");
  }
  std::vector<Tensor> pieces;
  std::int64_t at = 0;
  for (const std::int64_t length : lengths) {
    pieces.push_back(part("split", x, axis, at, length, 1));
    at += length;
  }
  return pieces;
}

Tensor cat(std::span<const Tensor> tensors, int axis) {
  if (tensors.empty()) throw ShapeError("cat of no tensors");
  const Tensor& first = tensors.front();
  axis = checked_axis(axis, first.shape(), "cat");
  const auto d = static_cast<std::size_t>(axis);
  Dims shape = first.shape();
  shape[d] = 0;
  DType type = first.dtype();
  for (const Tensor& tensor : tensors) {
    Dims other = tensor.shape();
    const std::int64_t extent = other.size() > d ? other[d] : 0;
    if (other.size() > d) other[d] = shape[d];
    if (!(other == shape) || &tensor.device() != &first.device()) {
      throw ShapeError("cat: " + to_string(first.shape()) + " on " + first.device().id() + " and " +
                       to_string(tensor.shape()) + " on " +
                       tensor.device().id_beside(first.device()) + " do not fit along axis " +
                       std::to_string(axis));
    }
    if (extent > INT64_MAX - shape[d]) {
      throw ShapeError("cat: the extents along axis " + std::to_string(axis) +
                       " add up to more than 2^63 - 1");
    }
    shape[d] += extent;
    type = promote(type, tensor.dtype());
  }
  if (tensors.size() > compute::kMaxActionInputs &&
      std::any_of(tensors.begin(), tensors.end(), is_tracked)) {
    return cat_by_parts(tensors, axis);
  }
  // The axis comes first, so that each piece has a run of memory for itself.
  std::swap(shape[0], shape[d]);
  const Tensor whole = empty(shape, first.device(), type);
  std::vector<std::int64_t> starts;
  std::int64_t at = 0;
  for (const Tensor& tensor : tensors) {
    const Tensor piece = tensor.detach().to(type).transpose(0, axis);
    assign(narrow(whole, 0, at, piece.shape()[0]), piece);
    starts.push_back(at);
    at += piece.shape()[0];
  }
  Tensor output(whole.transpose(0, axis).node());
  record({.action = Action::cat,
          .inputs = tensors,
          .output = output,
          .axes = {&axis, 1},
          .starts = starts},
         output);
  return output;
}

Tensor stack(std::span<const Tensor> tensors, int axis) {
  if (tensors.empty()) throw ShapeError("stack of no tensors");
  Dims shape = tensors.front().shape();
  const int rank = static_cast<int>(shape.size());
  if (axis < -rank - 1 || axis > rank) {
    throw ShapeError("stack: no new axis " + std::to_string(axis) + " beside shape " +
                     to_string(shape));
  }
  if (axis < 0) axis += rank + 1;
  Dims widened;
  for (int d = 0; d <= rank; ++d) {
    widened.push_back(d == axis ? 1 : shape[static_cast<std::size_t>(d < axis ? d : d - 1)]);
  }
  std::vector<Tensor> pieces;
  for (const Tensor& tensor : tensors) {
    if (!(tensor.shape() == shape)) {
      throw ShapeError("stack: " + to_string(shape) + " and " + to_string(tensor.shape()) +
                       " differ");
    }
    pieces.push_back(tensor.reshape(widened));
  }
  return cat(pieces, axis);
}

Tensor arange(Scalar start, Scalar end, Scalar step, Device& device, DType type) {
  const auto as = [](Scalar number, DType to) {
    return compute::fold_cast({number.type(), number.bits()}, to);
  };
  const auto integer = [&](Scalar number) -> long double {
    return static_cast<long double>(static_cast<std::int64_t>(as(number, DType::i64)));
  };
  const auto real = [&](Scalar number) { return std::bit_cast<double>(as(number, DType::f64)); };
  const auto whole = [](Scalar number) { return number.type() != DType::f64; };
  // The distance of two i64 has the 64 bits of a long double.
  const std::int64_t count = whole(start) && whole(end) && whole(step)
                                 ? steps_between(integer(start), integer(end), integer(step))
                                 : steps_between(real(start), real(end), real(step));
  (void)compute::checked_type(type);
  const DType by = whole(start) && whole(step) ? DType::i64 : DType::f64;
  const Tensor index = Tensor(compute::positions(Engine::of(device), count)).to(by);
  return (index * full(Dims(), step, device, by) + full(Dims(), start, device, by)).to(type);
}

}  // namespace forebay
