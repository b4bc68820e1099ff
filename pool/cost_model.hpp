// What the memory calls of a driver cost, measured on one NVIDIA H200 (driver 580.159.04).
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

#include "pool/units.hpp"

namespace forebay::pool {

/// Microseconds by bytes. Between sizes linear in log2(bytes); below the first size its value;
/// above the last, that value for each multiple of the size.
template <std::size_t N>
struct CostCurve {
  std::array<std::size_t, N> bytes;
  std::array<double, N> us;

  [[nodiscard]] double at(std::size_t size) const noexcept {
    if (size <= bytes.front()) return us.front();
    if (size >= bytes.back()) {
      return us.back() * static_cast<double>(size) / static_cast<double>(bytes.back());
    }
    std::size_t i = 1;
    while (size > bytes[i]) ++i;
    const double from = std::log2(static_cast<double>(bytes[i - 1]));
    const double to = std::log2(static_cast<double>(bytes[i]));
    const double part = (std::log2(static_cast<double>(size)) - from) / (to - from);
    return us[i - 1] + part * (us[i] - us[i - 1]);
  }
};

namespace cost {
inline constexpr std::array<std::size_t, 4> kHandleBytes{2 * kMiB, 32 * kMiB, 256 * kMiB,
                                                         1024 * kMiB};
inline constexpr CostCurve<4> kCreate{kHandleBytes, {15.0, 15.0, 22.3, 22.7}};
inline constexpr CostCurve<4> kMap{kHandleBytes, {1.0, 1.0, 1.0, 1.2}};
inline constexpr CostCurve<4> kSetAccess{kHandleBytes, {27.0, 27.0, 46.0, 65.1}};
inline constexpr CostCurve<4> kUnmap{kHandleBytes, {18.2, 18.2, 24.8, 29.8}};
inline constexpr CostCurve<4> kRelease{kHandleBytes, {12.7, 28.4, 134.4, 558.4}};
inline constexpr double kReserve = 36.0;
inline constexpr std::array<std::size_t, 3> kRegionBytes{2 * kMiB, 64 * kMiB, 1024 * kMiB};
inline constexpr CostCurve<3> kAllocateRegion{kRegionBytes, {43.0, 52.0, 146.0}};
inline constexpr CostCurve<3> kFreeRegion{kRegionBytes, {37.0, 81.0, 548.0}};
}  // namespace cost

}  // namespace forebay::pool
