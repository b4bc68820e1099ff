// Making tensors: empty, constant, from host memory, random.
#include <array>
#include <cstring>

#include "compute/fold.hpp"
#include "compute/tensor_access.hpp"
#include "forebay/compute/math.hpp"

namespace forebay {
namespace {

using compute::checked_type;
using compute::Engine;
using compute::Node;
using compute::NodeRef;
using compute::Op;

void require_elements(std::size_t given, const Dims& shape) {
  const std::int64_t wanted = checked_numel(shape);
  if (static_cast<std::int64_t>(given) != wanted) {
    throw ShapeError("from_host: shape " + to_string(shape) + " has " + std::to_string(wanted) +
                     " elements, but " + std::to_string(given) + " are given");
  }
}

void require_real(const char* what, DType type) {
  if (category_of(checked_type(type)) == Category::real) return;
  throw ShapeError(std::string(what) + " has no form for " + std::string(to_string(type)));
}

Tensor random(Op op, const Dims& shape, std::uint64_t key, Device& device) {
  Engine& engine = Engine::of(device);
  std::array<NodeRef, 2> words;
  for (std::size_t i = 0; i < 2; ++i) {
    words[i] = Node::constant(device, engine, Dims(), DType::i32, key >> (32 * i) & 0xffffffffU);
  }
  return Tensor(engine.operation(op, compute::result_type(op, DType::i32), shape, words));
}

}  // namespace

Tensor empty(const Dims& shape, Device& device, DType type) {
  return Tensor(Engine::of(device).uninitialized(shape, checked_type(type)));
}

Tensor full(const Dims& shape, Scalar value, Device& device, DType type) {
  Engine& engine = Engine::of(device);
  const std::uint64_t bits = compute::fold_cast({value.type(), value.bits()}, checked_type(type));
  return Tensor(engine.constant(shape, type, bits));
}

template <typename T>
requires is_element<T> Tensor full(const Dims& shape, T value, Device& device) {
  Engine& engine = Engine::of(device);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return Tensor(engine.constant(shape, dtype_of<T>, bits));
}

Tensor zeros(const Dims& shape, Device& device, DType type) { return full(shape, 0, device, type); }

Tensor ones(const Dims& shape, Device& device, DType type) { return full(shape, 1, device, type); }

template <typename T>
requires is_element<T> std::vector<Tensor> from_host_many(std::span<const std::span<const T>> data,
                                                          const Dims& shape, Device& device,
                                                          DType type) {
  std::vector<Engine::HostArray> arrays;
  arrays.reserve(data.size());
  for (const auto& elements : data) {
    require_elements(elements.size(), shape);
    arrays.push_back({elements.data(), dtype_of<T>});
  }
  std::vector<Tensor> tensors;
  tensors.reserve(data.size());
  for (NodeRef& node : Engine::of(device).upload(arrays, shape, checked_type(type))) {
    tensors.emplace_back(std::move(node));
  }
  return tensors;
}

template <typename T>
requires is_element<T> Tensor from_host(std::span<const T> data, const Dims& shape, Device& device,
                                        DType type) {
  require_elements(data.size(), shape);
  const Engine::HostArray array{data.data(), dtype_of<T>};
  return Tensor(
      std::move(Engine::of(device).upload({&array, 1}, shape, checked_type(type)).front()));
}

#define FOREBAY_DTYPE(name, T, bytes)                                                              \
  template Tensor full<T>(const Dims&, T, Device&);                                                \
  template Tensor from_host<T>(std::span<const T>, const Dims&, Device&, DType);                   \
  template std::vector<Tensor> from_host_many<T>(std::span<const std::span<const T>>, const Dims&, \
                                                 Device&, DType);
FOREBAY_DTYPES(FOREBAY_DTYPE)
#undef FOREBAY_DTYPE

Tensor random_uniform(const Dims& shape, std::uint64_t key, Device& device, DType type) {
  require_real("random_uniform", type);
  if (type == DType::f64) return random(Op::random_uniform_f64, shape, key, device);
  Tensor drawn = random(Op::random_uniform, shape, key, device);
  if (type == DType::f32) return drawn;
  // As many steps as the type tells apart below 1.
  const float steps = type == DType::f16 ? 0x1p11F : 0x1p8F;
  return (floor(std::move(drawn) * steps) * (1 / steps)).to(type);
}

Tensor random_normal(const Dims& shape, std::uint64_t key, Device& device, DType type) {
  require_real("random_normal", type);
  if (type == DType::f64) return random(Op::random_normal_f64, shape, key, device);
  return random(Op::random_normal, shape, key, device).to(type);
}

}  // namespace forebay
