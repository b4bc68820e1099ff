// The ladder: what a pool tries, and in which order, when the first search finds no memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace forebay::pool {

/// A rung. After each the search runs again; after trim, callback and wait, which free memory, the
/// rungs before them are tried again too.
enum class LadderRung : std::uint8_t {
  completed,  ///< what was freed, and whose points have passed by now
  map,        ///< new memory, below the soft limit
  steal,      ///< what other streams have freed, after a wait on the device
  /// Idle memory moves to where it is needed: before `map` with as little new memory as possible,
  /// after it with as few moves, below the soft limit in both cases.
  remap,
  grow,      ///< the same up to the capacity; nothing where the soft limit is the capacity
  trim,      ///< what the streams keep for their next allocations is given up
  callback,  ///< others are asked to give memory back
  wait,      ///< the host waits for the oldest frees, for `wait_limit_ms` at most
};
inline constexpr std::size_t kLadderRungs = 8;

/// The name of a rung in configurations.
[[nodiscard]] std::string_view to_string(LadderRung rung) noexcept;
/// The rung of that name; nothing if there is none.
[[nodiscard]] std::optional<LadderRung> ladder_rung(std::string_view name) noexcept;

/// The rungs that are climbed, in this order; those that it lacks are not. `completed` comes first,
/// since every other rung wants to know what is free, and `map` is among them: without it a pool
/// would never have any memory.
using Ladder = std::vector<LadderRung>;

/// Every rung, memory before waits.
[[nodiscard]] inline Ladder default_ladder() {
  return {LadderRung::completed, LadderRung::map,  LadderRung::steal,    LadderRung::remap,
          LadderRung::grow,      LadderRung::trim, LadderRung::callback, LadderRung::wait};
}

/// What is wrong with a ladder, and at which of its rungs; the number of them for what is missing.
struct LadderMistake {
  std::size_t at = 0;
  std::string what;  ///< what was found and what is allowed, one line
};
[[nodiscard]] std::optional<LadderMistake> ladder_mistake(const Ladder& ladder);

}  // namespace forebay::pool
