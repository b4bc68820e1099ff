#include "tools/forebay/plain_loops.hpp"

#include <array>
#include <bit>
#include <cstdint>

namespace forebay::tools {
namespace {

using Leaves = std::vector<const void*>;

template <typename T>
const T* array(const Leaves& leaves, std::size_t k) {
  return static_cast<const T*>(leaves[k]);
}

float scalar_of(const ComputeCase& one, std::size_t k) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(one.scalars[k]));
}

// Calls row(x, z) for each row of the first leaf and of the output.
template <typename T, typename Row>
void for_rows(const ComputeCase& one, const Leaves& leaves, void* out, Row&& row) {
  const std::int64_t columns = one.extents[one.extents.size() - 1];
  const std::int64_t pitch = one.strides[0].empty() ? columns : one.strides[0][0];
  for (std::int64_t r = 0; r < one.elements / columns; ++r) {
    row(array<T>(leaves, 0) + r * pitch, static_cast<T*>(out) + r * columns, columns);
  }
}

template <unsigned kLength>
void chain(const ComputeCase& one, const Leaves& leaves, void* out) {
  const float* const x = array<float>(leaves, 0);
  auto* const z = static_cast<float*>(out);
  std::array<float, kLength> scalars;
  for (unsigned k = 0; k < kLength; ++k) scalars[k] = scalar_of(one, k);
  for (std::int64_t i = 0; i < one.elements; ++i) {
    float value = x[i];
#pragma GCC unroll 40
    for (unsigned k = 0; k < kLength; ++k) {
      value = k % 2 == 0 ? value * scalars[k] : value + scalars[k];
    }
    z[i] = value;
  }
}

}  // namespace

void plain_copy(const ComputeCase& one, const Leaves& leaves, void* out) {
  for_rows<float>(one, leaves, out, [](const float* x, float* z, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) z[i] = x[i];
  });
}

void plain_add_scalar(const ComputeCase& one, const Leaves& leaves, void* out) {
  for_rows<float>(one, leaves, out,
                  [scalar = scalar_of(one, 0)](const float* x, float* z, std::int64_t n) {
                    for (std::int64_t i = 0; i < n; ++i) z[i] = x[i] + scalar;
                  });
}

template <typename T>
void plain_add(const ComputeCase& one, const Leaves& leaves, void* out) {
  const T* y = array<T>(leaves, 1);
  const bool broadcast = !one.strides[1].empty();
  for_rows<T>(one, leaves, out, [&](const T* x, T* z, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) z[i] = static_cast<T>(x[i] + y[i]);
    if (!broadcast) y += n;
  });
}
template void plain_add<float>(const ComputeCase&, const Leaves&, void*);
template void plain_add<double>(const ComputeCase&, const Leaves&, void*);
template void plain_add<std::uint64_t>(const ComputeCase&, const Leaves&, void*);
template void plain_add<std::uint32_t>(const ComputeCase&, const Leaves&, void*);
template void plain_add<std::uint8_t>(const ComputeCase&, const Leaves&, void*);

void plain_triad(const ComputeCase& one, const Leaves& leaves, void* out) {
  const float* const x = array<float>(leaves, 0);
  const float* const y = array<float>(leaves, 1);
  auto* const z = static_cast<float*>(out);
  const float scalar = scalar_of(one, 0);
  for (std::int64_t i = 0; i < one.elements; ++i) z[i] = x[i] + scalar * y[i];
}

PlainLoop plain_chain(unsigned length) {
  switch (length) {
    case 1:
      return &chain<1>;
    case 3:
      return &chain<3>;
    case 10:
      return &chain<10>;
    default:
      return &chain<40>;
  }
}

void plain_row_sum(const ComputeCase& one, const Leaves& leaves, void* out) {
  const std::int64_t columns = one.extents[one.extents.size() - 1];
  for (std::int64_t r = 0; r < one.elements / columns; ++r) {
    const float* const x = array<float>(leaves, 0) + r * columns;
    double sum = 0;
    if (leaves.size() > 1) {
      const float* const y = array<float>(leaves, 1) + r * columns;
      for (std::int64_t c = 0; c < columns; ++c) sum += static_cast<double>(x[c] * y[c]);
    } else {
      for (std::int64_t c = 0; c < columns; ++c) sum += static_cast<double>(x[c]);
    }
    static_cast<float*>(out)[r] = static_cast<float>(sum);
  }
}

void plain_column_sum(const ComputeCase& one, const Leaves& leaves, void* out) {
  const std::int64_t columns = one.extents[1];
  auto* const sums = static_cast<float*>(out);
  for (std::int64_t c = 0; c < columns; ++c) sums[c] = 0;
  for (std::int64_t r = 0; r < one.extents[0]; ++r) {
    const float* const x = array<float>(leaves, 0) + r * columns;
    for (std::int64_t c = 0; c < columns; ++c) sums[c] += x[c];
  }
}

void stream_triad(double* a, const double* b, const double* c, double scalar, std::size_t n) {
  for (std::size_t j = 0; j < n; ++j) a[j] = b[j] + scalar * c[j];
}

}  // namespace forebay::tools
