// Tensors on the host.
#include <cstdio>
#include <forebay/compute/tensor.hpp>
#include <forebay/runtime/runtime.hpp>

int main() {
  forebay::Runtime runtime = forebay::Runtime::create();
  forebay::Device& host = runtime.device("host");
  const forebay::Tensor ones = forebay::ones({3, 4}, host);
  const float sum = (ones + 1.0F).sum().item();
  std::printf("compute: %g\n", static_cast<double>(sum));
  return sum == 24.0F ? 0 : 1;
}
