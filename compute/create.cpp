// Making tensors: empty, constant, from host memory, random.
#include <array>
#include <bit>

#include "compute/tensor_access.hpp"

namespace forebay {
namespace {

using compute::Engine;
using compute::Node;
using compute::NodeRef;
using compute::Op;

Tensor constant(const Dims& shape, DType type, std::uint32_t bits, Device& device) {
  Engine& engine = Engine::of(device);
  return Tensor(Node::constant(device, engine, shape, type, bits));
}

void require_elements(std::size_t given, const Dims& shape) {
  const std::int64_t wanted = checked_numel(shape);
  if (static_cast<std::int64_t>(given) != wanted) {
    throw ShapeError("from_host: shape " + to_string(shape) + " has " + std::to_string(wanted) +
                     " elements, but " + std::to_string(given) + " are given");
  }
}

// A replay would read host memory that is not there any more.
void refuse_upload(const Engine& engine) {
  engine.refuse_in_capture("from_host", "make the tensor before, and assign new values to it");
}

Tensor random(Op op, const Dims& shape, std::uint64_t key, Device& device) {
  Engine& engine = Engine::of(device);
  std::array<NodeRef, 2> words;
  for (std::size_t i = 0; i < 2; ++i) {
    words[i] = Node::constant(device, engine, Dims(), DType::i32,
                              static_cast<std::uint32_t>(key >> (32 * i)));
  }
  return Tensor(engine.operation(op, DType::f32, shape, words));
}

}  // namespace

Tensor empty(const Dims& shape, Device& device, DType type) {
  return Tensor(Engine::of(device).uninitialized(shape, type));
}

Tensor full(const Dims& shape, float value, Device& device) {
  return constant(shape, DType::f32, std::bit_cast<std::uint32_t>(value), device);
}

Tensor full(const Dims& shape, std::int32_t value, Device& device) {
  return constant(shape, DType::i32, static_cast<std::uint32_t>(value), device);
}

Tensor zeros(const Dims& shape, Device& device, DType type) {
  return type == DType::f32 ? full(shape, 0.0F, device) : full(shape, 0, device);
}

Tensor ones(const Dims& shape, Device& device, DType type) {
  return type == DType::f32 ? full(shape, 1.0F, device) : full(shape, 1, device);
}

template <typename T>
requires is_element<T> std::vector<Tensor> from_host_many(std::span<const std::span<const T>> data,
                                                          const Dims& shape, Device& device,
                                                          DType type) {
  Engine& engine = Engine::of(device);
  for (const auto& elements : data) require_elements(elements.size(), shape);
  const std::lock_guard lock(engine.mutex());
  refuse_upload(engine);
  std::vector<Tensor> tensors;
  std::vector<compute::Backend::Upload> uploads;
  tensors.reserve(data.size());
  uploads.reserve(data.size());
  for (const auto& elements : data) {
    tensors.emplace_back(engine.uninitialized(shape, type));
    if (elements.empty()) continue;
    uploads.push_back(
        {elements.data(), dtype_of<T>, tensors.back().node()->address(), type, elements.size()});
  }
  if (!uploads.empty()) engine.backend().upload_many(uploads, device.default_stream());
  return tensors;
}

template <typename T>
requires is_element<T> Tensor from_host(std::span<const T> data, const Dims& shape, Device& device,
                                        DType type) {
  Engine& engine = Engine::of(device);
  require_elements(data.size(), shape);
  const std::lock_guard lock(engine.mutex());
  refuse_upload(engine);
  Tensor tensor(engine.uninitialized(shape, type));
  if (data.empty()) return tensor;
  engine.backend().upload(data.data(), dtype_of<T>, tensor.node()->address(), type, data.size(),
                          device.default_stream());
  return tensor;
}

template Tensor from_host<float>(std::span<const float>, const Dims&, Device&, DType);
template Tensor from_host<std::int32_t>(std::span<const std::int32_t>, const Dims&, Device&, DType);
template std::vector<Tensor> from_host_many<float>(std::span<const std::span<const float>>,
                                                   const Dims&, Device&, DType);
template std::vector<Tensor> from_host_many<std::int32_t>(
    std::span<const std::span<const std::int32_t>>, const Dims&, Device&, DType);

Tensor random_uniform(const Dims& shape, std::uint64_t key, Device& device) {
  return random(Op::random_uniform, shape, key, device);
}

Tensor random_normal(const Dims& shape, std::uint64_t key, Device& device) {
  return random(Op::random_normal, shape, key, device);
}

}  // namespace forebay
