// The limits at which an expression ends, and what an expression weighs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "compute/node.hpp"
#include "compute/walk.hpp"
#include "forebay/compute/backend.hpp"
#include "forebay/runtime/device.hpp"

namespace forebay::compute {

/// The stricter of what the configuration and the backend's weakest executor allow.
struct FusionLimits {
  Weight most;
  std::uint32_t max_outputs = 1;

  FusionLimits() = default;
  FusionLimits(const FusionConfig& config, const Limits& backend, std::size_t capacity);
};

/// One reason for an expression to end: the measure that went beyond its limit.
struct End {
  std::uint32_t Weight::*measure;  ///< what the heaviest operand has most of; null: none
  Counter FusionEndCounters::*counter;
};
inline constexpr End kEndRead{nullptr, &FusionEndCounters::read};
inline constexpr End kEndConsumer{nullptr, &FusionEndCounters::consumer};
inline constexpr End kEndPinned{nullptr, &FusionEndCounters::pinned_bytes};

/// The first limit on the size of a program that `weight` is beyond, or null.
[[nodiscard]] const End* exceeded(const Weight& weight, const FusionLimits& limits) noexcept;

/// What an operation on `operands` weighs, from above: shared nodes count for each use.
[[nodiscard]] Weight bound_weight(std::span<const NodeRef> operands) noexcept;
/// Exactly. Cost: linear in the expression.
[[nodiscard]] Weight exact_weight(std::span<const NodeRef> operands, Walk& walk);

}  // namespace forebay::compute
