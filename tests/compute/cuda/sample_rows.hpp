// The row programs of the library, and the kernels of them that tests run.
#pragma once

#include <string>
#include <vector>

#include "compute/row_programs.hpp"

namespace forebay::test {

struct NamedRows {
  std::string name;  ///< fit for an identifier
  const compute::RowProgram& program;
  std::vector<unsigned> steps;  ///< of its emulated kernels, rows_<name>_<steps>
};

[[nodiscard]] inline std::vector<NamedRows> sample_rows() {
  using compute::layer_norm_rows;
  return {
      {"softmax_f32", compute::softmax_rows(DType::f32), {1, 2, 4, 8}},
      {"softmax_f16", compute::softmax_rows(DType::f16), {1, 2}},
      {"log_softmax_f64", compute::log_softmax_rows(DType::f64), {1, 2}},
      {"log_softmax_bf16", compute::log_softmax_rows(DType::bf16), {1}},
      {"layer_norm_f32", layer_norm_rows(DType::f32, DType::f32, DType::f32), {1, 2}},
      {"layer_norm_f16", layer_norm_rows(DType::f16, DType::f32, DType::f16), {1}},
      {"layer_norm_f64", layer_norm_rows(DType::f64, std::nullopt, DType::f32), {1}},
      {"layer_norm_plain", layer_norm_rows(DType::bf16, std::nullopt, std::nullopt), {2}},
  };
}

}  // namespace forebay::test
