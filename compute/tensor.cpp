#include "forebay/compute/tensor.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <stdexcept>

#include "compute/convert.hpp"
#include "compute/strides.hpp"
#include "compute/tensor_access.hpp"

namespace forebay {
namespace {

using compute::Engine;
using compute::engine_of;
using compute::NodeRef;

void require_type(const Tensor& tensor, DType wanted) {
  if (tensor.dtype() != wanted) {
    throw ShapeError("elements of type " + std::string(to_string(wanted)) +
                     " were asked from a tensor of " + std::string(to_string(tensor.dtype())));
  }
}

// "f32 [2, 3] on host", for messages.
std::string describe(const Tensor& tensor, const Device& beside) {
  return std::string(to_string(tensor.dtype())) + " " + to_string(tensor.shape()) + " on " +
         tensor.device().id_beside(beside);
}

[[noreturn]] void throw_no_host_memory(const Tensor& tensor) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(tensor.numel()) * size_of(tensor.dtype());
  const std::string wanted =
      std::to_string(bytes) + " bytes of " + describe(tensor, tensor.device());
  throw OutOfMemory("to_host: no host memory for the " + wanted, wanted + " were requested");
}

// What `make` allocates for the tensor's elements.
template <typename Make>
auto host_memory(const Tensor& tensor, Make&& make) {
  try {
    return make();
  } catch (const std::bad_alloc&) {
    throw_no_host_memory(tensor);
  } catch (const std::length_error&) {
    throw_no_host_memory(tensor);
  }
}

}  // namespace

void Scalar::throw_beyond_i64(std::uint64_t value) {
  throw ShapeError("the number " + std::to_string(value) + " does not fit into i64");
}

const Dims& Tensor::shape() const { return compute::node_of(*this)->shape; }
std::int64_t Tensor::numel() const { return compute::node_of(*this)->numel; }
DType Tensor::dtype() const { return compute::node_of(*this)->type; }
Device& Tensor::device() const { return *compute::node_of(*this)->device; }

const Tensor& Tensor::eval() const {
  engine_of(*this).evaluate(node_, compute::kEndRead);
  return *this;
}

void eval(std::span<const Tensor> tensors) {
  // By engine, almost always one.
  std::vector<NodeRef> nodes;
  std::vector<Engine*> engines;
  for (const Tensor& tensor : tensors) {
    Engine* const engine = &engine_of(tensor);
    if (std::find(engines.begin(), engines.end(), engine) == engines.end()) {
      engines.push_back(engine);
    }
  }
  for (Engine* engine : engines) {
    nodes.clear();
    for (const Tensor& tensor : tensors) {
      if (tensor.node()->engine == engine) nodes.push_back(tensor.node());
    }
    engine->evaluate(nodes, compute::kEndRead);
  }
}

template <typename T>
requires is_element<T> T Tensor::item()
const {
  if (numel() != 1) {
    throw ShapeError("item needs one element, but the shape is " + to_string(shape()));
  }
  const std::uint64_t bits = engine_of(*this).read(node_);
  T value{};
  compute::convert(&bits, dtype(), &value, dtype_of<T>, 1);
  return value;
}

template <typename T>
requires is_element<T>
void Tensor::copy_to_host(std::span<T> target) const {
  require_type(*this, dtype_of<T>);
  if (static_cast<std::int64_t>(target.size()) != numel()) {
    throw ShapeError("a tensor of shape " + to_string(shape()) + " was asked into " +
                     std::to_string(target.size()) + " elements");
  }
  Engine& engine = engine_of(*this);
  const std::lock_guard lock(engine.mutex());
  engine.refuse_in_capture("to_host", "call it after a replay");
  const NodeRef source = engine.contiguous(node_, compute::kEndRead);
  if (target.empty()) return;
  engine.backend().download(source->address(), target.data(), target.size_bytes(),
                            engine.device().default_stream());
  // The memory may be another library's.
  if constexpr (std::is_same_v<T, bool>) {
    compute::convert(target.data(), DType::boolean, target.data(), DType::boolean, target.size());
  }
}

template <typename T>
requires is_element<T> std::vector<T> Tensor::to_host()
const {
  require_type(*this, dtype_of<T>);
  device().require_open();
  const auto count = static_cast<std::size_t>(numel());
  if constexpr (std::is_same_v<T, bool>) {
    // A vector of bools has no elements in memory.
    const auto elements = host_memory(*this, [&] { return std::make_unique<bool[]>(count); });
    copy_to_host(std::span(elements.get(), count));
    return host_memory(*this,
                       [&] { return std::vector<bool>(elements.get(), elements.get() + count); });
  } else {
    std::vector<T> elements = host_memory(*this, [&] { return std::vector<T>(count); });
    copy_to_host(std::span(elements));
    return elements;
  }
}

#define FOREBAY_DTYPE(name, T, bytes)                        \
  template T Tensor::item<T>() const;                        \
  template void Tensor::copy_to_host<T>(std::span<T>) const; \
  template std::vector<T> Tensor::to_host<T>() const;
FOREBAY_DTYPES(FOREBAY_DTYPE)
#undef FOREBAY_DTYPE

void* Tensor::data() const {
  Engine& engine = engine_of(*this);
  const std::lock_guard lock(engine.mutex());
  engine.evaluate(node_, compute::kEndRead);
  if (!node_->contiguous) {
    // Its memory would be the graph's from then on.
    if (node_->storage->capture != engine.capture_number()) {
      engine.refuse_in_capture("data of a view with strides",
                               "call it before, or reshape the view, which copies it");
    }
    engine.make_storage(*node_, engine.copy(node_, compute::kEndRead)->storage);
  }
  engine.wrote(*node_);  // by whom it gives the address
  return node_->address();
}

Tensor Tensor::detach() const { return Tensor(compute::node_of(*this)); }

namespace {

// `own_references` to the value end with the caller.
void checked_assign(const char* what, const Tensor& target, const Tensor& value,
                    std::uint32_t own_references) {
  Engine& engine = engine_of(target);
  if (target.shape() != value.shape() || target.dtype() != value.dtype() ||
      &target.device() != &value.device()) {
    throw ShapeError(std::string(what) + ": a value of " + describe(value, target.device()) +
                     " does not fit into " + describe(target, target.device()));
  }
  const std::lock_guard lock(engine.mutex());
  if (target.node()->storage != nullptr && target.node()->storage->read_only()) {
    throw ShapeError(std::string(what) + ": the target " + describe(target, target.device()) +
                     " lies in another library's memory, which is for reading only");
  }
  const compute::Node& node = *target.node();
  if (!node.contiguous && compute::may_overlap(node.shape, node.strides)) {
    throw ShapeError(std::string(what) + ": elements of the target " +
                     describe(target, target.device()) +
                     " may share memory, as it is a view with strides " + to_string(node.strides));
  }
  engine.assign(target.node(), value.node(), own_references);
}

}  // namespace

void assign(const Tensor& target, const Tensor& value) {
  checked_assign("assign", target, value, 0);
}

void assign(const Tensor& target, Tensor&& value) {
  compute::assign_as("assign", target, std::move(value));
}

void compute::assign_as(const char* what, const Tensor& target, Tensor&& value) {
  if (&target == &value) return;
  // Without what autograd saved for it.
  const Tensor last(std::move(value).node());
  value = Tensor();
  checked_assign(what, target, last, 1);
}

void compute::will_write(std::span<const Tensor> targets) {
  if (targets.empty()) return;
  std::vector<NodeRef> nodes;
  nodes.reserve(targets.size());
  for (const Tensor& target : targets) nodes.push_back(target.node());
  engine_of(targets.front()).will_write(nodes);
}

}  // namespace forebay
