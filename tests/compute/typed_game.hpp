// Random programs over all types, views and broadcasts, beside a reference in f64 that rounds to
// the type after each operation, by the standard library alone.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "forebay/compute/tensor.hpp"

namespace forebay::testing {

/// Every operation in it is one that IEEE or whole numbers define, so that results are compared for
/// equality, whoever computed them.
class TypedGame {
 public:
  /// The same seed gives the same program on every device.
  TypedGame(Device& device, unsigned seed) : device_(device), random_(seed) {}
  /// Plays `steps` operations. Empty, or the first element that is not what it must be.
  [[nodiscard]] std::string play(int steps);

 private:
  struct Value {
    Tensor tensor;
    DType type;
    std::int64_t rows, columns;   // each 1 or kSide
    std::vector<double> numbers;  // row-major
    [[nodiscard]] double at(std::int64_t row, std::int64_t column) const {
      const auto place = (rows == 1 ? 0 : row) * columns + (columns == 1 ? 0 : column);
      return numbers[static_cast<std::size_t>(place)];
    }
  };
  static constexpr std::int64_t kSide = 7;

  std::size_t below(std::size_t n) { return random_() % n; }
  [[nodiscard]] Value fresh();
  [[nodiscard]] Value operand();
  [[nodiscard]] Value step();
  [[nodiscard]] Value unary();
  [[nodiscard]] Value binary();
  [[nodiscard]] Value with_number();
  [[nodiscard]] Value choice();
  [[nodiscard]] Value cast_of();
  [[nodiscard]] Value view();
  [[nodiscard]] Value pieces();
  [[nodiscard]] Value reduction();
  template <typename Number>
  [[nodiscard]] static Value made(Tensor tensor, DType type, std::int64_t rows,
                                  std::int64_t columns, Number number);

  Device& device_;
  std::mt19937 random_;
  std::vector<Value> values_;
};

}  // namespace forebay::testing
