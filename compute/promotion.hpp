// The type of an operation's operands, by PyTorch's rules.
#pragma once

#include <optional>

#include "compute/tensor_access.hpp"

namespace forebay::compute {

/// What a real result has where integers came in.
inline constexpr DType kDefaultReal = DType::f32;

/// Tensors with dimensions decide; those without only lift the type to a higher category, and so do
/// numbers, which come last. Within each of the three groups the types are promoted.
class Promotion {
 public:
  void add(const Tensor& tensor) {
    const Node& node = *node_of(tensor);
    lift(node.shape.empty() ? single_ : whole_, node.type);
  }
  /// A number counts as f32, i64 or boolean.
  void add(Scalar number) {
    lift(number_, number.type() == DType::f64 ? kDefaultReal : number.type());
  }
  /// REQUIRES: something was added.
  [[nodiscard]] DType result() const { return *over(whole_, over(single_, number_)); }

 private:
  static void lift(std::optional<DType>& type, DType by) { type = type ? promote(*type, by) : by; }
  /// `lower` matters only if its category is higher.
  static std::optional<DType> over(std::optional<DType> higher, std::optional<DType> lower) {
    if (!higher || !lower) return higher ? higher : lower;
    return category_of(*lower) > category_of(*higher) ? promote(*higher, *lower) : higher;
  }

  std::optional<DType> whole_, single_, number_;
};

}  // namespace forebay::compute
