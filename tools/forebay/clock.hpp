// Wall-clock seconds.
#pragma once

#include <chrono>

namespace forebay::tools {

/// Seconds since some fixed moment.
[[nodiscard]] inline double now_s() noexcept {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

namespace detail {
inline double process_start_s = now_s();
}
/// Called first thing in `main`, so that no initialisation escapes a measurement that counts it
/// all.
inline void mark_process_start() noexcept { detail::process_start_s = now_s(); }
[[nodiscard]] inline double process_start_s() noexcept { return detail::process_start_s; }

}  // namespace forebay::tools
