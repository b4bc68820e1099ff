// The limits at which an expression ends, and what an expression weighs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "compute/node.hpp"
#include "compute/walk.hpp"
#include "forebay/compute/backend.hpp"
#include "forebay/runtime/device.hpp"

namespace forebay::compute {

/// The stricter of what the configuration and the backend's weakest executor allow.
struct FusionLimits {
  Weight most{.outputs = 1};

  FusionLimits() = default;
  FusionLimits(const FusionConfig& config, const Limits& backend, std::size_t capacity);
};

/// One reason for an expression to end: a need for its value, or a measure beyond its limit.
struct End {
  std::uint32_t Weight::*measure;  ///< what the heaviest operand has most of; null: none
  Counter FusionEndCounters::*counter;
  const char* text;   ///< the need, or the unit of the measure
  const char* bound;  ///< what the limit comes from, a key of the configuration if possible; null:
                      ///< there is no limit
};
inline constexpr End kEndRead{nullptr, &FusionEndCounters::read, "it is read", nullptr};
inline constexpr End kEndConsumer{nullptr, &FusionEndCounters::consumer, "it is needed in memory",
                                  nullptr};
inline constexpr End kEndPinned{nullptr, &FusionEndCounters::pinned_bytes, "bytes held by it alone",
                                "fusion.pinned_fraction"};

/// What is held of the expression is beyond it, not the expression: the launch leaves values out.
inline constexpr End kEndOutputs{&Weight::outputs, &FusionEndCounters::max_outputs, "outputs",
                                 "the backend's"};

/// The first limit on the size of a program that `weight` is beyond, or null.
[[nodiscard]] const End* exceeded(const Weight& weight, const FusionLimits& limits) noexcept;

/// An end with its numbers: "257 operations, at most 256 (fusion.max_ops)", where a backend's own
/// limit may be below the configuration's, or "it is read: 12 operations, 3 inputs, 1 scalar".
[[nodiscard]] std::string numbers_of(const End& end, const Weight& weight,
                                     const FusionLimits& limits);

/// What an operation on `operands` weighs, from above: shared nodes count for each use.
[[nodiscard]] Weight bound_weight(std::span<const NodeRef> operands) noexcept;
/// Exactly. Cost: linear in the expression.
[[nodiscard]] Weight exact_weight(std::span<const NodeRef> operands, Walk& walk);

}  // namespace forebay::compute
