// Stores of results that no cache could hold.
#pragma once

#include <cstddef>
#include <cstdint>

namespace forebay::compute::host {

/// Outputs of a run from this many bytes on are written past the caches: a line that is written
/// there need not be read before, which is a quarter of what an addition moves. Above the share of
/// the last-level cache that one core of today's servers has, so that what may still be there when
/// the next program reads it goes the common way.
inline constexpr std::uint64_t kStreamedBytes = std::uint64_t{32} << 20;

/// memcpy past the caches; any alignment. A thread calls end_streaming() before it tells another
/// one that it is done.
void stream(void* to, const void* from, std::size_t bytes) noexcept;
void end_streaming() noexcept;

}  // namespace forebay::compute::host
