// Lowering: one linear pass from expressions to a program and its binding.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compute/fusion_limits.hpp"
#include "compute/node.hpp"
#include "compute/walk.hpp"
#include "forebay/compute/program.hpp"

namespace forebay::compute {

/// What a program shall do with expressions of one shape, which is not empty.
struct LowerRequest {
  std::span<Node* const> roots;                   ///< all are stored, unless there is a reduction
  std::optional<ReduceOp> reduce = std::nullopt;  ///< of the one root
  std::uint8_t reduced_dims = 0;                  ///< dimensions of the roots' shape
  std::uint32_t own_references = 0;  ///< references to a reduced root that end with the caller
};

/// Makes programs of expressions. Shared nodes and equal leaves appear once. Nodes that somebody
/// outside of the expression holds are outputs as well, the topmost ones if there are too many. An
/// instance keeps its buffers, so that lowering a known expression allocates nothing.
/// Thread safety: none; one for each device, under the engine's mutex.
class Lowering {
 public:
  /// False if the expression is beyond the limits; nothing has been made then.
  [[nodiscard]] bool run(const LowerRequest& request, const FusionLimits& limits, Walk& walk);

  Program program;
  Binding binding;            ///< but `outputs` and `reduction`
  std::vector<Node*> stored;  ///< the nodes of program.outputs
  /// Whether the program's leaves are read for the last time, unless somebody outside holds them:
  /// every operation that outlives the program is stored by it.
  bool last_reader = true;
  /// Values that are stored, and those that somebody holds and which are one too many.
  std::uint32_t held = 0;

 private:
  bool add_leaves(const Walk& walk, const Dims& space, const FusionLimits& limits);
  bool add_constants(const Walk& walk, const FusionLimits& limits);
  void set_space(const LowerRequest& request);
  void add_outputs(const LowerRequest& request, const FusionLimits& limits, const Walk& walk);
  [[nodiscard]] Value value_of(const Node& node) const noexcept;
  [[nodiscard]] bool is_stored(const Node* node) const noexcept;
  void store(Node* node);

  std::vector<Dims> strided_;  // strides of the leaves that are not contiguous, in the space
};

}  // namespace forebay::compute
