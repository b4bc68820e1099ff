// The parts of a program as code, from which map and reduction kernels are put together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compute/cuda/codegen.hpp"
#include "compute/cuda/text.hpp"
#include "forebay/compute/program.hpp"

namespace forebay::cuda {

/// Whether an element may lie beyond the end.
enum class Bounds : std::uint8_t { known, checked };

/// Writes the pieces of one program. Conventions of the code: `a` are the arguments, `vK` is value
/// K, `xK[e]` the loaded element e of leaf K, `yK[e]` the element of output K, `i` the linear index
/// of an element and `cD` its coordinate in dimension D. Everything of one element stands between
/// braces, so that names do not clash.
class ProgramText {
 public:
  ProgramText(const compute::Program& program, const KernelShape& shape)
      : program_(program), shape_(shape) {}

  /// Values that are the same for all elements: scalars and single leaves.
  void constants(Text& text) const;
  /// The arrays xK and yK, of so many elements.
  void arrays(Text& text, unsigned elements) const;
  /// The statements that turn the loaded elements `xK[e]` into those of the outputs, `yK[e]`.
  void compute(Text& text) const;
  /// The same from the leaves' and scalars' values on.
  void code(Text& text) const;
  /// `cD` for `dims` (outermost first) from the index `index`.
  void split(Text& text, const std::vector<unsigned>& dims, std::string_view index) const;
  /// The expression that reads one element of leaf k. Strided leaves add the coordinates of `dims`
  /// to `pK` if the kernel has such a base (a reduction), else to the leaf's address.
  [[nodiscard]] std::string element(std::size_t k, const std::vector<unsigned>& dims) const;

  /// xK[e] = the element of leaf K at the place that `i` and `cD` say; with Bounds::checked 0
  /// unless `inside`.
  void load_element(Text& text, const std::vector<unsigned>& dims, Bounds bounds) const;
  void store_element(Text& text) const;
  /// One run of every leaf or output: elements run * q and following at linear index `i`, at most
  /// sixteen bytes at a time. Strided leaves are read from the place that `cD` say on along the
  /// last dimension, element by element unless `a.packed` says that they lie side by side.
  void load_run(Text& text, const std::vector<unsigned>& dims) const;
  void store_run(Text& text) const;

  [[nodiscard]] bool uses_index() const;
  [[nodiscard]] std::string value(compute::Value value) const;

 private:
  [[nodiscard]] bool per_element(std::size_t leaf) const {
    return program_.leaves[leaf].access != compute::Access::single;
  }

  const compute::Program& program_;
  const KernelShape& shape_;
};

/// The forms of the prelude for the operations on f16 and bf16 in the programs of one kernel, each
/// once.
void narrow_forms(Text& text, std::span<const compute::Program* const> programs);

/// A thread's run q of elements of `type`, at most sixteen bytes at a time, from the address `from`
/// to the array `to` and the other way round; `pack` begins the names of what goes through.
void load_packs(Text& text, const KernelShape& shape, DType type, std::string_view pack,
                std::string_view from, std::string_view to);
void store_packs(Text& text, const KernelShape& shape, DType type, std::string_view pack,
                 std::string_view from, std::string_view to);

/// Elements of `type` that one access of a run moves.
[[nodiscard]] constexpr unsigned elements_of_access(const KernelShape& shape, DType type) noexcept {
  return std::min(shape.run, 16U / static_cast<unsigned>(size_of(type)));
}

/// Roughly the instructions of one element; loads of strided leaves count with their dimensions.
[[nodiscard]] unsigned weight(const compute::Program& program);

}  // namespace forebay::cuda
