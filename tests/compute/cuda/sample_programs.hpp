// Programs that show every form that a generated kernel can take.
#pragma once

#include <string>
#include <vector>

#include "forebay/compute/backend.hpp"

namespace forebay::test {

struct NamedProgram {
  std::string name;  ///< fit for an identifier
  compute::Program program;
};

/// Every operation in every type it takes, in programs that store each result; every type beside
/// every other, linear and strided; every reduction of every type; reductions over inner, outer,
/// middle and several dimensions, with and without stores, vectorised and not, long enough to be
/// looped; the widest parameters; the stages of row programs; random programs. The same list on
/// every machine.
[[nodiscard]] std::vector<NamedProgram> sample_programs();

/// Every operation in every type, 24 results a program. Access::single has no index of its own.
[[nodiscard]] std::vector<NamedProgram> operation_programs(compute::Access access);
/// Eight leaves, one of each type, plus a scalar each, stored.
[[nodiscard]] compute::Program type_program(compute::Access access);
/// Every reduction of every type.
[[nodiscard]] std::vector<NamedProgram> reduction_programs();

/// Extents that maps may be walked by tiles in, with edges of every kind; none of 6 and 7
/// dimensions.
[[nodiscard]] std::vector<Dims> tiled_extents(unsigned rank);
/// What the sample of a kernel by tiles stages: as many strided leaves as can be, since any may be
/// for which it would not pay.
[[nodiscard]] std::uint32_t staged_sample(const compute::Program& program);

/// As many leaves, operations, scalars and outputs as `parts` says; eight dimensions where leaves
/// are strided or something is reduced.
[[nodiscard]] compute::Program wide_program(const compute::Limits& parts, compute::Access access,
                                            bool reduced, DType type);
/// That of the limits of the backend, strided: nothing takes more parameters.
[[nodiscard]] compute::Program widest_program(bool reduced, DType type = DType::f64);

/// Of words: at the backend's limits, and one leaf, scalar and operation below, linear and strided.
[[nodiscard]] std::vector<NamedProgram> limit_programs();

/// A program drawn from a seed: any operations, types, accesses, outputs, rank and reduction.
[[nodiscard]] compute::Program random_program(unsigned seed);
/// The same of f32 and i32, with the operations that the interpreter's fast kernels know, or sums.
[[nodiscard]] compute::Program random_word_program(unsigned seed);
/// The first again, of up to 200 operations.
[[nodiscard]] compute::Program long_random_program(unsigned seed);

/// `leaf` summed over `reduced_dims` of `rank` dimensions.
[[nodiscard]] compute::Program sum_program(compute::Leaf leaf, std::uint8_t rank,
                                           std::uint8_t reduced_dims);

}  // namespace forebay::test
