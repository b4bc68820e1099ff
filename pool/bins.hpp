// Size bins: lists of ranges by size, and a bitmap that says which are not empty.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "pool/units.hpp"

namespace forebay::pool {

/// The bins are logarithmic with 16 linear steps an octave, so a range in a bin is at most 1/16
/// larger than the smallest that belongs there. Sizes are in units of 512 bytes, up to 2^35.
struct BinScale {
  static constexpr unsigned kSteps = 16;
  static constexpr unsigned kBins = 32 * kSteps;

  /// The bin of a range of `units`; monotone.
  static constexpr unsigned of(std::uint64_t units) noexcept {
    if (units < kSteps) return static_cast<unsigned>(units);
    const unsigned octave = log2_floor(units) - 4;
    const unsigned bin =
        (octave + 1) * kSteps + static_cast<unsigned>((units >> octave) & (kSteps - 1));
    return bin < kBins ? bin : kBins - 1;
  }
};

/// Heads of the lists, 0 for an empty one, and the bitmap over them. About 2 KiB.
class Bins {
 public:
  [[nodiscard]] std::uint32_t head(unsigned bin) const noexcept { return heads_[bin]; }
  void set_head(unsigned bin, std::uint32_t id) noexcept {
    heads_[bin] = id;
    const std::uint64_t bit = std::uint64_t{1} << (bin % 64);
    if (id != 0) {
      bitmap_[bin / 64] |= bit;
    } else {
      bitmap_[bin / 64] &= ~bit;
    }
  }
  /// The first bin from `bin` on that is not empty, kBins if there is none. At most 8 words.
  [[nodiscard]] unsigned next(unsigned bin) const noexcept {
    if (bin >= BinScale::kBins) return BinScale::kBins;
    std::size_t word = bin / 64;
    std::uint64_t bits = bitmap_[word] & (~std::uint64_t{0} << (bin % 64));
    while (bits == 0) {
      if (++word == bitmap_.size()) return BinScale::kBins;
      bits = bitmap_[word];
    }
    return static_cast<unsigned>(word) * 64 + static_cast<unsigned>(std::countr_zero(bits));
  }
  /// The last bin that is not empty, kBins if there is none.
  [[nodiscard]] unsigned last() const noexcept {
    for (std::size_t word = bitmap_.size(); word-- > 0;) {
      if (bitmap_[word] != 0) {
        return static_cast<unsigned>(word) * 64 + 63 -
               static_cast<unsigned>(std::countl_zero(bitmap_[word]));
      }
    }
    return BinScale::kBins;
  }

 private:
  std::array<std::uint32_t, BinScale::kBins> heads_{};
  std::array<std::uint64_t, BinScale::kBins / 64> bitmap_{};
};

}  // namespace forebay::pool
