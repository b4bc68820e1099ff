#include "compute/host/streaming.hpp"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compute/host/streaming.cpp"
#include "compute/host/targets.inl"
#include "hwy/cache_control.h"

FOREBAY_TARGETS_BEGIN

namespace hn = hwy::HWY_NAMESPACE;

// Whole lines by aligned vectors; what is left at both ends the common way. A set without vectors
// has no such stores.
void stream_bytes(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  const hn::CappedTag<std::uint8_t, kLine> d;
  if (hn::Lanes(d) == 1) {
    std::memcpy(to, from, bytes);
    return;
  }
  const std::size_t head =
      std::min<std::size_t>(bytes, -reinterpret_cast<std::uintptr_t>(to) % kLine);
  std::memcpy(to, from, head);
  std::size_t i = head;
  for (; i + kLine <= bytes; i += kLine) {
    for (std::size_t j = 0; j < kLine; j += hn::Lanes(d)) {
      hn::Stream(hn::LoadU(d, from + i + j), d, to + i + j);
    }
  }
  std::memcpy(to + i, from + i, bytes - i);
}

FOREBAY_TARGETS_END

#if HWY_ONCE
namespace forebay::compute::host {
HWY_EXPORT(stream_bytes);
void stream(void* to, const void* from, std::size_t bytes) noexcept {
  HWY_DYNAMIC_DISPATCH(stream_bytes)
  (static_cast<std::uint8_t*>(to), static_cast<const std::uint8_t*>(from), bytes);
}
void end_streaming() noexcept { hwy::FlushStream(); }
}  // namespace forebay::compute::host
#endif
