// Elements by index: index_select and gather, by one kernel for each size of elements, and the
// indices that arange counts by.
#include "compute/gather.hpp"

#include <array>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>

#include "compute/embed.hpp"
#include "compute/gather_text.hpp"
#include "compute/tensor_access.hpp"
#include "forebay/compute/math.hpp"
#include "forebay/compute/shaping.hpp"

// The prelude's macros are those of the host here.
#include "compute/prelude/types.inl"
//
#include "compute/gather.inl"

#ifdef FOREBAY_GATHER_IMAGE
FOREBAY_EMBED(forebay_gather_image, FOREBAY_GATHER_IMAGE);
extern "C" const std::byte forebay_gather_image[], forebay_gather_image_end[];
#endif

namespace forebay {
namespace {

using compute::Action;
using compute::CustomKernel;
using compute::Engine;
using compute::engine_of;
using compute::NodeRef;
using compute::record;

constexpr unsigned kThreads = 256;

std::span<const std::byte> gather_image() {
#ifdef FOREBAY_GATHER_IMAGE
  return {forebay_gather_image, forebay_gather_image_end};
#else
  return {};
#endif
}

template <typename Word>
void gather_on_host(std::span<void* const> arguments, unsigned /*blocks*/) {
  const Word* const x = *static_cast<const Word* const*>(arguments[0]);
  const long long* const index = *static_cast<const long long* const*>(arguments[1]);
  Word* const out = *static_cast<Word* const*>(arguments[2]);
  const FbGather& l = *static_cast<const FbGather*>(arguments[3]);
  for (long long i = 0; i < l.count; ++i) fb_gather(x, index, out, l, i);
}

void positions_on_host(std::span<void* const> arguments, unsigned /*blocks*/) {
  long long* const out = *static_cast<long long* const*>(arguments[0]);
  std::iota(out, out + *static_cast<const long long*>(arguments[1]), 0LL);
}

// As many as cover `count` elements.
unsigned blocks_of(const char* name, std::int64_t count) {
  const std::int64_t blocks = count / kThreads + (count % kThreads != 0 ? 1 : 0);
  if (blocks > INT32_MAX) {
    throw ShapeError(std::string(name) + ": too large: " + std::to_string(count) + " elements");
  }
  return static_cast<unsigned>(blocks);
}

CustomKernel kernel_of(const char* entry, void (*host)(std::span<void* const>, unsigned)) {
  return {.name = entry,
          .cuda_source = compute::kGatherText,
          .block = kThreads,
          .host = host,
          .parameter_bytes = {},
          .cuda_image = gather_image()};
}

Tensor checked_index(const char* name, const Tensor& x, int axis, const Tensor& index) {
  {
    Engine& engine = engine_of(x);
    const std::lock_guard lock(engine.mutex());
    engine.refuse_in_capture(name, "it reads its indices to check them, so call it before");
  }
  if (category_of(index.dtype()) != Category::integer || &index.device() != &x.device()) {
    throw ShapeError(std::string(name) + ": the index is " + std::string(to_string(index.dtype())) +
                     " on " + index.device().id_beside(x.device()) + ", not integers on " +
                     x.device().id());
  }
  const Tensor wide = index.detach().to(DType::i64);
  if (index.numel() == 0) return wide;
  const std::int64_t extent = x.shape()[static_cast<std::size_t>(axis)];
  const Tensor outside = logical_or(less(wide, 0), greater_equal(wide, extent));
  if (outside.any().item<bool>()) {
    const auto first = outside.argmax().item<std::int64_t>();
    const Tensor number = narrow(wide.reshape({wide.numel()}), 0, first, 1);
    throw ShapeError(std::string(name) + ": index " + std::to_string(number.item<std::int64_t>()) +
                     ", element " + std::to_string(first) + " of " + to_string(index.shape()) +
                     ", is outside of axis " + std::to_string(axis) + " of shape " +
                     to_string(x.shape()));
  }
  return wide;
}

Tensor picked(const char* name, const Tensor& x, const Tensor& index, const Dims& shape,
              const FbGather& layout) {
  Engine& engine = engine_of(x);
  const std::lock_guard lock(engine.mutex());
  NodeRef out = engine.uninitialized(shape, x.dtype());
  FbGather l = layout;
  l.count = out->numel;
  if (l.count != 0) {
    const NodeRef source = engine.contiguous(x.detach().node(), compute::kEndConsumer);
    const NodeRef where = engine.contiguous(index.node(), compute::kEndConsumer);
    void* addresses[] = {source->address(), where->address(), out->address()};
    void* const arguments[] = {&addresses[0], &addresses[1], &addresses[2], &l};
    engine.backend().run(compute::gather_kernel(size_of(x.dtype())), arguments,
                         blocks_of(name, l.count), engine.device().default_stream());
  }
  Tensor output(std::move(out));
  const std::array<Tensor, 2> inputs{x, index};
  record({.action = Action::other, .inputs = inputs, .output = output, .name = name}, output);
  return output;
}

// Extents behind `axis`, multiplied.
std::int64_t inner_of(const Dims& shape, int axis) {
  std::int64_t inner = 1;
  for (std::size_t d = static_cast<std::size_t>(axis) + 1; d < shape.size(); ++d) inner *= shape[d];
  return inner;
}

}  // namespace

const CustomKernel& compute::gather_kernel(std::size_t bytes) {
  static const CustomKernel k1 = kernel_of("forebay_gather_1", &gather_on_host<std::uint8_t>);
  static const CustomKernel k2 = kernel_of("forebay_gather_2", &gather_on_host<std::uint16_t>);
  static const CustomKernel k4 = kernel_of("forebay_gather_4", &gather_on_host<std::uint32_t>);
  static const CustomKernel k8 = kernel_of("forebay_gather_8", &gather_on_host<std::uint64_t>);
  return bytes == 1 ? k1 : bytes == 2 ? k2 : bytes == 4 ? k4 : k8;
}

const CustomKernel& compute::positions_kernel() {
  static constexpr std::size_t kBytes[] = {sizeof(long long*), sizeof(long long)};
  static const CustomKernel kernel = [] {
    CustomKernel made = kernel_of("forebay_positions", &positions_on_host);
    made.parameter_bytes = kBytes;
    return made;
  }();
  return kernel;
}

NodeRef compute::positions(Engine& engine, std::int64_t count) {
  const std::lock_guard lock(engine.mutex());
  NodeRef out = engine.uninitialized({count}, DType::i64);
  if (count == 0) return out;
  void* address = out->address();
  long long number = count;
  void* const arguments[] = {&address, &number};
  engine.backend().run(positions_kernel(), arguments, blocks_of("arange", count),
                       engine.device().default_stream());
  return out;
}

Tensor index_select(const Tensor& x, int axis, const Tensor& index) {
  axis = compute::checked_any_axis(axis, x.shape(), "index_select");
  if (index.rank() != 1 || (x.rank() == 0 && index.numel() != 1)) {
    throw ShapeError("index_select needs a vector of indices, not " + to_string(index.shape()) +
                     ", for shape " + to_string(x.shape()));
  }
  if (x.rank() == 0) return index_select(x.reshape({1}), 0, index).reshape({});
  const Tensor wide = checked_index("index_select", x, axis, index);
  Dims shape = x.shape();
  const std::int64_t extent = shape[static_cast<std::size_t>(axis)];
  shape[static_cast<std::size_t>(axis)] = index.numel();
  return picked("index_select", x, wide, shape,
                {.count = 0,
                 .picks = index.numel(),
                 .extent = extent,
                 .inner = inner_of(shape, axis),
                 .index_outer = 0,
                 .index_step = 1,
                 .index_inner = 0});
}

Tensor gather(const Tensor& x, int axis, const Tensor& index) {
  axis = compute::checked_any_axis(axis, x.shape(), "gather");
  const Dims& shape = index.shape();
  bool fits = shape.size() == x.rank();
  for (std::size_t d = 0; fits && d < shape.size(); ++d) {
    fits = static_cast<int>(d) == axis || shape[d] <= x.shape()[d];
  }
  if (!fits) {
    throw ShapeError("gather: an index of " + to_string(shape) + " does not fit shape " +
                     to_string(x.shape()) + " along axis " + std::to_string(axis));
  }
  if (x.rank() == 0) return gather(x.reshape({1}), 0, index.reshape({1})).reshape({});
  const Tensor wide = checked_index("gather", x, axis, index);
  // The part of x that the other coordinates reach.
  Tensor reached = x.detach();
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (static_cast<int>(d) != axis) reached = narrow(reached, static_cast<int>(d), 0, shape[d]);
  }
  const std::int64_t picks = shape[static_cast<std::size_t>(axis)];
  const std::int64_t inner = inner_of(shape, axis);
  Tensor output = picked("gather", reached, wide, shape,
                         {.count = 0,
                          .picks = picks,
                          .extent = x.shape()[static_cast<std::size_t>(axis)],
                          .inner = inner,
                          .index_outer = picks * inner,
                          .index_step = inner,
                          .index_inner = 1});
  record({.action = Action::other, .inputs = {&x, 1}, .output = output, .name = "gather"}, output);
  return output;
}

}  // namespace forebay
