// A program with data to run it on, and what it must compute, worked out element by element.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "forebay/compute/program.hpp"

namespace forebay::test {

/// A 32-bit element of either type.
union Word {
  std::uint32_t bits;
  float real;
  std::int32_t whole;
};

struct CaseOptions {
  unsigned seed = 1;
  bool specials = false;    ///< NaN, infinities, zeros of both signs and subnormals among the data
  unsigned misaligned = 0;  ///< elements by which every buffer is off a 16-byte border
};

/// Buffers begin `offset` elements into their words, so that a copy of the words to an aligned
/// address has the alignment that was asked for.
struct CaseBuffer {
  std::vector<Word> words;
  std::size_t offset = 0;
};

/// Strided leaves get random strides, 0 included, that do not overlap otherwise.
class ProgramCase {
 public:
  ProgramCase(compute::Program program, Dims extents, const CaseOptions& options = {});

  [[nodiscard]] const compute::Program& program() const noexcept { return program_; }
  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  [[nodiscard]] std::int64_t kept() const noexcept { return kept_; }
  [[nodiscard]] const std::vector<CaseBuffer>& leaves() const noexcept { return leaves_; }
  /// Room for what is computed, filled with a pattern that shows where something was written.
  [[nodiscard]] CaseBuffer output_buffer() const;
  [[nodiscard]] CaseBuffer reduction_buffer() const;
  /// Extents, strides and scalars; addresses are the caller's to fill in.
  [[nodiscard]] const compute::Binding& binding() const noexcept { return binding_; }

  /// Empty, or the first element that is not what it must be: bit for bit but for NaN, which equals
  /// any NaN; beyond the end nothing may have been written.
  [[nodiscard]] std::string check_output(std::size_t k, const CaseBuffer& got) const;
  /// i32 sums are exact; f32 sums are within a few roundings of the sum of magnitudes.
  [[nodiscard]] std::string check_reduction(const CaseBuffer& got) const;

 private:
  void make_leaves(std::mt19937& random, const CaseOptions& options);
  void compute();
  [[nodiscard]] CaseBuffer blank(std::int64_t count) const;

  compute::Program program_;
  compute::Binding binding_;
  std::int64_t count_ = 1, kept_ = 1, reduced_ = 1;
  std::size_t offset_ = 0;
  std::vector<CaseBuffer> leaves_;
  std::vector<std::vector<Word>> outputs_;
  std::vector<double> sums_, magnitudes_;
  std::vector<std::uint32_t> whole_sums_;
};

}  // namespace forebay::test
