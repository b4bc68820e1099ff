#include "nn/adam_kernel.hpp"

#include <algorithm>
#include <array>

#include "compute/embed.hpp"
#include "nn/adam_text.hpp"

#ifdef FOREBAY_ADAM_IMAGE
FOREBAY_EMBED(forebay_adam_image, FOREBAY_ADAM_IMAGE);
extern "C" const std::byte forebay_adam_image[], forebay_adam_image_end[];
#endif

namespace forebay::nn {
namespace {

template <typename T>
T argument(std::span<void* const> arguments, std::size_t i) {
  return *static_cast<const T*>(arguments[i]);
}

// The chunks in order, as the blocks take them on a GPU.
void adam_on_host(std::span<void* const> arguments, unsigned /*blocks*/) {
  const auto* rows = argument<const FbAdamRow*>(arguments, 0);
  const auto* chunks = argument<const FbAdamChunk*>(arguments, 1);
  const auto chunk_count = argument<unsigned>(arguments, 2);
  const auto* lr = argument<const float*>(arguments, 3);
  auto* state = argument<FbAdamState*>(arguments, 4);

  const unsigned long long step = state->step;
  for (unsigned c = 0; c < chunk_count; ++c) {
    const FbAdamRow& row = rows[chunks[c].row];
    const FbAdamPowers& now = row.powers[step & 1];
    const FbAdamRates rates = fb_adam_rates(state, &now, *lr);
    const long long begin = static_cast<long long>(chunks[c].index) * FB_ADAM_CHUNK;
    const long long end = std::min<long long>(begin + FB_ADAM_CHUNK, row.count);
    for (long long i = begin; i < end; ++i) {
      fb_adam_update(rates, fb_adam_dither(step, i), row.g[i], row.p[i], row.m[i], row.v[i]);
    }
    if (chunks[c].index == 0) {
      row.powers[(step + 1) & 1] =
          fb_adam_powers(now.beta1 * state->beta1, now.beta2 * state->beta2);
    }
  }
  state->step = step + 1;
}

std::span<const std::byte> adam_image() noexcept {
#ifdef FOREBAY_ADAM_IMAGE
  return {forebay_adam_image, forebay_adam_image_end};
#else
  return {};
#endif
}

}  // namespace

const compute::CustomKernel& adam_kernel() noexcept {
  static constexpr std::array<std::size_t, 5> kParameters{
      sizeof(void*), sizeof(void*), sizeof(unsigned), sizeof(void*), sizeof(void*)};
  static const compute::CustomKernel kKernel{.name = "fb_adam",
                                             .cuda_source = kAdamText,
                                             .block = 256,
                                             .host = adam_on_host,
                                             .parameter_bytes = kParameters,
                                             .cuda_image = adam_image()};
  return kKernel;
}

}  // namespace forebay::nn
