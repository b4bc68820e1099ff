// A program with data to run it on, and what it must compute, worked out element by element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "forebay/compute/program.hpp"

namespace forebay::test {

struct CaseOptions {
  unsigned seed = 1;
  bool specials = false;    ///< NaN, infinities, zeros of both signs, subnormals, least integers
  unsigned misaligned = 0;  ///< elements by which every buffer is off a 16-byte border
};

/// Elements begin `offset` bytes into a buffer, so that a copy of the bytes to an aligned address
/// has the alignment that was asked for.
struct CaseBuffer {
  std::vector<std::byte> bytes;
  std::size_t offset = 0;
};

/// Strided leaves get random strides, 0 and negative ones included, that do not overlap otherwise.
class ProgramCase {
 public:
  ProgramCase(compute::Program program, Dims extents, const CaseOptions& options = {});

  [[nodiscard]] const compute::Program& program() const noexcept { return program_; }
  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  [[nodiscard]] std::int64_t kept() const noexcept { return kept_; }
  [[nodiscard]] const std::vector<CaseBuffer>& leaves() const noexcept { return leaves_; }
  /// Room for what is computed, filled with a pattern that shows where something was written.
  [[nodiscard]] CaseBuffer output_buffer(std::size_t k) const;
  [[nodiscard]] CaseBuffer reduction_buffer() const;
  /// Extents, strides and scalars; addresses are the caller's to fill in.
  [[nodiscard]] const compute::Binding& binding() const noexcept { return binding_; }
  /// The type of the reduction's result.
  [[nodiscard]] DType reduced_type() const;

  /// Empty, or the first element that is not what it must be: bit for bit but for NaN, which equals
  /// any NaN; beyond the end nothing may have been written.
  [[nodiscard]] std::string check_output(std::size_t k, const CaseBuffer& got) const;
  /// Whether two runs left the same in every buffer, the outputs and then the reduction: bit for
  /// bit but for NaN, which equals any NaN.
  [[nodiscard]] bool same(const std::vector<CaseBuffer>& a, const std::vector<CaseBuffer>& b) const;
  /// Sums, means and products of reals are within a few roundings; the rest is exact.
  [[nodiscard]] std::string check_reduction(const CaseBuffer& got) const;

 private:
  void make_leaves(std::mt19937& random, const CaseOptions& options);
  void compute();
  void reduce(std::size_t row, std::uint64_t value, std::int64_t index);
  [[nodiscard]] CaseBuffer blank(std::int64_t count, DType type) const;

  compute::Program program_;
  compute::Binding binding_;
  std::int64_t count_ = 1, kept_ = 1, reduced_ = 1;
  std::size_t misaligned_ = 0;
  std::vector<CaseBuffer> leaves_;
  std::vector<std::vector<std::uint64_t>> outputs_;
  // By result: real sums and products, the magnitudes that bound their error (of a product: of its
  // logarithm); integers, extremes and indices as bits. One after the other, thousands of numbers
  // would lose more in f64 than the trees that are checked.
  std::vector<long double> sums_;
  std::vector<double> magnitudes_;
  std::vector<std::uint64_t> exact_;
  std::vector<std::int64_t> best_;
};

/// Small extents for a program, and data in which everything may occur that its reduction bears.
[[nodiscard]] ProgramCase random_case(const compute::Program& program, unsigned seed);

}  // namespace forebay::test
