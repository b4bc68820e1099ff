#include <algorithm>

#include "forebay/pool/ladder.hpp"

namespace forebay::pool {
namespace {

// In the order of the enumeration.
constexpr std::array<std::string_view, kLadderRungs> kNames{
    "completed", "map", "steal", "remap", "grow", "trim", "callback", "wait"};

std::string quoted_name(LadderRung rung) { return "\"" + std::string(to_string(rung)) + "\""; }

}  // namespace

std::string_view to_string(LadderRung rung) noexcept {
  const auto index = static_cast<std::size_t>(rung);
  return index < kNames.size() ? kNames[index] : "unknown";
}

std::optional<LadderRung> ladder_rung(std::string_view name) noexcept {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<LadderRung>(found - kNames.begin());
}

std::optional<LadderMistake> ladder_mistake(const Ladder& ladder) {
  for (auto rung = ladder.begin(); rung != ladder.end(); ++rung) {
    const auto at = static_cast<std::size_t>(rung - ladder.begin());
    if (static_cast<std::size_t>(*rung) >= kLadderRungs) {
      return LadderMistake{at, "found no rung of the ladder"};
    }
    if (at == 0 && *rung != LadderRung::completed) {
      return LadderMistake{at, "found " + quoted_name(*rung) +
                                   ", allowed is \"completed\": what is free by now comes first"};
    }
    if (std::find(ladder.begin(), rung, *rung) != rung) {
      return LadderMistake{
          at, "found " + quoted_name(*rung) + " a second time; each rung may be given once"};
    }
  }
  if (std::find(ladder.begin(), ladder.end(), LadderRung::map) == ladder.end()) {
    return LadderMistake{ladder.size(), std::string("found no ") +
                                            (ladder.empty() ? "\"completed\"" : "\"map\"") +
                                            "; \"completed\" and \"map\" have to be among them"};
  }
  return std::nullopt;
}

}  // namespace forebay::pool
