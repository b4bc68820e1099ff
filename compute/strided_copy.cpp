// Writing to views with strides: the value is computed, then every element copied to its place.
#include "compute/strided_copy.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

#include "compute/embed.hpp"
#include "compute/engine.hpp"
#include "compute/strided_copy_text.hpp"
#include "compute/strides.hpp"

// The prelude's macros are those of the host here.
#include "compute/prelude/types.inl"
//
#include "compute/strided_copy.inl"

#ifdef FOREBAY_STRIDED_COPY_IMAGE
FOREBAY_EMBED(forebay_strided_copy_image, FOREBAY_STRIDED_COPY_IMAGE);
extern "C" const std::byte forebay_strided_copy_image[], forebay_strided_copy_image_end[];
#endif

namespace forebay::compute {
namespace {

constexpr unsigned kCopyThreads = 256;
// Threads of more elements than that take several.
constexpr std::int64_t kMaxCopyBlocks = std::int64_t{1} << 20;
constexpr std::size_t kCopyParameters[] = {sizeof(void*), sizeof(void*), sizeof(FbStridedCopy)};

std::span<const std::byte> strided_copy_image() {
#ifdef FOREBAY_STRIDED_COPY_IMAGE
  return {forebay_strided_copy_image, forebay_strided_copy_image_end};
#else
  return {};
#endif
}

template <typename Word>
void copy_on_host(std::span<void* const> arguments, unsigned /*blocks*/) {
  const Word* const source = *static_cast<const Word* const*>(arguments[0]);
  Word* const target = *static_cast<Word* const*>(arguments[1]);
  const FbStridedCopy& l = *static_cast<const FbStridedCopy*>(arguments[2]);
  const int last = l.rank - 1;
  for (long long row = 0; row < l.count; row += l.extents[last]) {
    const FbPlaces places = fb_places(l, row);
    for (long long j = 0; j < l.extents[last]; ++j) {
      target[places.target + j * l.target[last]] = source[places.source + j * l.source[last]];
    }
  }
}

// Dimensions go by the target's strides, so that neighbours are written one after the other.
FbStridedCopy layout_of(const Node& target, const Dims& source) {
  std::array<std::size_t, kMaxRank> order{};
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(target.shape.size());
  std::iota(order.begin(), end, std::size_t{0});
  std::stable_sort(order.begin(), end, [&](std::size_t a, std::size_t b) {
    return std::abs(target.strides[a]) > std::abs(target.strides[b]);
  });
  Dims shape;
  std::array<Dims, 2> strides;
  std::for_each(order.begin(), end, [&](std::size_t d) {
    shape.push_back(target.shape[d]);
    strides[0].push_back(target.strides[d]);
    strides[1].push_back(source[d]);
  });
  const Dims extents = collapse(shape, 0, strides).extents;
  FbStridedCopy layout{};
  layout.count = target.numel;
  layout.rank = static_cast<int>(extents.size());
  std::copy(extents.begin(), extents.end(), layout.extents);
  std::copy(strides[0].begin(), strides[0].end(), layout.target);
  std::copy(strides[1].begin(), strides[1].end(), layout.source);
  return layout;
}

}  // namespace

const CustomKernel& strided_copy_kernel(std::size_t bytes) {
  const auto kernel = [](const char* entry, auto host) {
    return CustomKernel{.name = entry,
                        .cuda_source = kStridedCopyText,
                        .block = kCopyThreads,
                        .host = host,
                        .parameter_bytes = kCopyParameters,
                        .cuda_image = strided_copy_image()};
  };
  static const CustomKernel k1 = kernel("forebay_strided_copy_1", &copy_on_host<std::uint8_t>);
  static const CustomKernel k2 = kernel("forebay_strided_copy_2", &copy_on_host<std::uint16_t>);
  static const CustomKernel k4 = kernel("forebay_strided_copy_4", &copy_on_host<std::uint32_t>);
  static const CustomKernel k8 = kernel("forebay_strided_copy_8", &copy_on_host<std::uint64_t>);
  return bytes == 1 ? k1 : bytes == 2 ? k2 : bytes == 4 ? k4 : k8;
}

void Engine::assign_strided(const NodeRef& target, const NodeRef& value) {
  // Of a constant one element is stored, and repeated.
  NodeRef source = value->is(NodeKind::constant)
                       ? Node::constant(device_, *this, Dims(), value->type, value->bits)
                       : value;
  evaluate(source, kEndConsumer);
  const Extent memory = extent_of(*target);
  if (overlap(memory, extent_of(*source))) source = copy(source, kEndConsumer);
  protect({{&memory, 1}});
  FbStridedCopy layout =
      layout_of(*target, broadcast_strides(source->shape, source->strides, target->shape));
  wrote(*target);
  keep(*source);
  void* addresses[] = {source->address(), target->address()};
  void* const arguments[] = {&addresses[0], &addresses[1], &layout};
  const std::int64_t blocks = (layout.count + kCopyThreads - 1) / kCopyThreads;
  backend().run(strided_copy_kernel(size_of(target->type)), arguments,
                static_cast<unsigned>(std::min(blocks, kMaxCopyBlocks)), device_.default_stream());
}

}  // namespace forebay::compute
