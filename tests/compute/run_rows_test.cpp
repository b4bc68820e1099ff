#include "forebay/compute/graph.hpp"
#include "forebay/compute/math.hpp"
#include "forebay/compute/normalize.hpp"
#include "forebay/compute/shaping.hpp"
#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::testing;

namespace {

// Hides that x is a row, so that softmax is put together from operations.
Tensor by_operations(const Tensor& x) {
  const Tensor low = x - x.max(std::vector<int>{-1}, true);
  const Tensor powers = exp(low);
  return powers * (1.0F / powers.sum(std::vector<int>{-1}, true));
}

std::vector<float> numbers(std::int64_t count) {
  std::vector<float> made;
  for (std::int64_t i = 0; i < count; ++i) made.push_back(std::cos(static_cast<float>(i)) * 9);
  return made;
}

}  // namespace

TEST_CASE("stages give the bits of the operations that they stand for") {
  const Host host;
  for (const Dims& shape : {Dims{4, 300}, Dims{1, 2}, Dims{2, 3, 5000}, Dims{7}}) {
    const Tensor x = host.f32(numbers(checked_numel(shape)), shape);
    const Tensor rows = softmax(x);
    CHECK(rows.shape() == shape);
    CHECK(same(rows.to_host<float>(), by_operations(x).to_host<float>()));
  }
}

TEST_CASE("rows may be lazy, strided or a part") {
  const Host host;
  const Tensor x = host.f32(numbers(600), {20, 30});
  CHECK(same(softmax(x * 2.0F).to_host<float>(), by_operations(x * 2.0F).to_host<float>()));
  CHECK(
      same(softmax(x.transpose()).to_host<float>(), by_operations(x.transpose()).to_host<float>()));
  const Tensor part = narrow(x, 1, 3, 17);
  CHECK(same(softmax(part).to_host<float>(), by_operations(part).to_host<float>()));
}

TEST_CASE("a row program leaves nothing behind, and counts its launches") {
  const Host host;
  const Tensor x = host.f32(numbers(600), {20, 30});
  const auto live = host.device.pool().stats().allocations.live;
  const std::uint64_t before = host.launches();
  {
    const Tensor y = softmax(x);
    CHECK(host.device.pool().stats().allocations.live == live + 1);
    CHECK(host.launches() == before + 3);
  }
  CHECK(host.device.pool().stats().allocations.live == live);
}

TEST_CASE("a captured row program reads what is there at each replay") {
  const Host host;
  Tensor x = host.f32(numbers(600), {20, 30});
  Tensor y;
  Graph graph = capture(host.device, [&] { y = softmax(x); });
  for (const float scale : {1.0F, 0.25F}) {
    assign(x, host.f32(numbers(600), {20, 30}) * scale);
    graph.replay();
    CHECK(same(y.to_host<float>(), by_operations(x).to_host<float>()));
  }
}
