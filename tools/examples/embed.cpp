// Embedding forebay in an application: a device, a tensor expression, the pool's statistics.
// [snippet]
#include <forebay/compute/tensor.hpp>
#include <forebay/runtime/runtime.hpp>
#include <iostream>

int main() {
  const forebay::Config config;  // or forebay::Config::load("mine.json")
  forebay::Runtime runtime = forebay::Runtime::create(config);
  forebay::Device& device = runtime.device("auto");  // the first usable GPU, else the host
  const forebay::Tensor x = forebay::random_normal({1024, 1024}, /*key=*/42, device);
  const forebay::Tensor y = forebay::exp(x) * 0.5F + 1.0F;     // lazy: nothing has run yet
  std::cout << "mean: " << y.mean().item() << "\n";            // one launch for all of it
  std::cout << "statistics: " << device.stats_json() << "\n";  // a forebay.stats/1 document
}
// [/snippet]
