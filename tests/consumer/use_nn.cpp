// One step of training on the host lowers the loss.
#include <cstdio>
#include <forebay/nn/nn.hpp>
#include <forebay/runtime/runtime.hpp>

int main() {
  namespace nn = forebay::nn;
  forebay::Runtime runtime = forebay::Runtime::create();
  forebay::Device& host = runtime.device("host");
  nn::Linear layer(nn::LinearOptions(8, 4).bias(true), host, 1);
  nn::Adam adam(layer->parameters(), nn::AdamOptions(1e-2));
  const forebay::Tensor input = forebay::random_normal({16, 8}, 2, host);
  const forebay::Tensor target = forebay::zeros({16, 4}, host);
  float losses[2];
  for (float& value : losses) {
    adam.zero_grad();
    const forebay::Tensor loss = nn::mse_loss(layer(input), target);
    nn::backward(loss);
    adam.step();
    value = loss.item();
  }
  std::printf("nn: loss %g, then %g\n", static_cast<double>(losses[0]),
              static_cast<double>(losses[1]));
  return losses[1] < losses[0] ? 0 : 1;
}
