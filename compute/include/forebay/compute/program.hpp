// The typed program that every executor runs: one fused expression, optionally ending in a
// reduction.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "forebay/compute/dtype.hpp"
#include "forebay/compute/op.hpp"
#include "forebay/compute/shape.hpp"

namespace forebay::compute {

/// A value of a program: leaves come first, then scalars, then the results of the instructions,
/// each in the order of its list.
using Value = std::uint16_t;

/// How a leaf is read over the iteration space.
enum class Access : std::uint8_t {
  linear,   ///< element i of the iteration space is element i of the leaf
  single,   ///< one element for the whole space
  strided,  ///< by a stride for each dimension, 0 included
};

struct Leaf {
  DType type = DType::f32;
  Access access = Access::linear;
  bool operator==(const Leaf&) const = default;
};

struct Instruction {
  Op op = Op::add;
  DType type = DType::f32;  ///< of the result
  Value a = 0, b = 0, c = 0;
  bool operator==(const Instruction&) const = default;
};

/// A value that is stored, linear over the iteration space. Any value: a program without code that
/// stores a leaf makes a view contiguous, one that stores a scalar fills.
struct Output {
  Value value = 0;
  bool operator==(const Output&) const = default;
};

/// The end of a program: `value` reduced over the reduced dimensions, by the rule of its type.
struct Reduction {
  ReduceOp op = ReduceOp::sum;
  Value value = 0;
  bool operator==(const Reduction&) const = default;
};

/// What executors keep with a program: its compiled form, found again without a look-up. It belongs
/// to one address: a copied program starts without, and comparisons ignore it.
/// Thread safety: as the executor; what is kept may be shared with a compiling thread.
class Prepared {
 public:
  Prepared() = default;
  Prepared(const Prepared& /*other*/) noexcept {}
  Prepared& operator=(const Prepared& /*other*/) noexcept { return *this; }
  ~Prepared() = default;
  bool operator==(const Prepared& /*other*/) const noexcept { return true; }

  /// What `owner` has kept, null if nothing.
  template <typename T>
  [[nodiscard]] T* find(const void* owner) const noexcept {
    for (const auto& [who, what] : kept_) {
      if (who == owner) return static_cast<T*>(what.get());
    }
    return nullptr;
  }
  /// Keeps `what` until the program is forgotten; REQUIRES: `owner` keeps nothing yet.
  template <typename T>
  T& keep(const void* owner, std::shared_ptr<T> what) {
    T& kept = *what;
    kept_.emplace_back(owner, std::move(what));
    return kept;
  }

 private:
  std::vector<std::pair<const void*, std::shared_ptr<void>>> kept_;
};

/// One fused expression. It never contains sizes: two expressions of equal structure share it.
/// Executors see programs of the device's program cache: one address for each structure, valid
/// until the cache forgets it, which destroys `prepared`.
///
/// Invariants: every operand comes before its use; `rank` dimensions after collapse, 1 if every
/// leaf is linear or single and there is no reduction; a reduction over extents of 1 alone reduces
/// no dimension of the collapsed space; no value is stored twice; the linear index over the
/// iteration space is the element's index in its tensor, which is what the random operations count
/// by.
struct Program {
  std::vector<Leaf> leaves;
  std::vector<DType> scalars;
  std::vector<Instruction> code;
  std::vector<Output> outputs;
  std::optional<Reduction> reduction;
  std::uint8_t rank = 1;
  /// With a reduction: bit d is set if dimension d of the iteration space is reduced.
  std::uint8_t reduced_dims = 0;
  mutable Prepared prepared;

  bool operator==(const Program&) const = default;
  /// A compact, exact text of everything above: equal keys mean equal programs.
  [[nodiscard]] std::string key() const;
  [[nodiscard]] DType type_of(Value value) const {
    std::size_t i = value;
    if (i < leaves.size()) return leaves[i].type;
    i -= leaves.size();
    if (i < scalars.size()) return scalars[i];
    return code.at(i - scalars.size()).type;
  }
};

/// Where the data of one run is. Addresses are of the executor's device. Outputs overlap no leaf,
/// unless it is linear and begins at the same address.
struct Binding {
  Dims extents{};                        ///< of the iteration space, `rank` of them, row-major
  std::vector<const void*> leaves{};     ///< first element of each leaf, offset included
  std::vector<Dims> strides{};           ///< for each leaf, elements; empty unless strided
  std::vector<std::uint64_t> scalars{};  ///< bit patterns, from the lowest bit on
  std::vector<void*> outputs{};
  void* reduction = nullptr;  ///< linear over the kept dimensions
  /// If given, the single result of the reduction, of at most four bytes, goes here as well, in one
  /// store: its bits in the low word, `ticket` in the high one. One of `Backend::mailboxes`.
  std::uint64_t* mailbox = nullptr;
  std::uint32_t ticket = 0;
};

}  // namespace forebay::compute
