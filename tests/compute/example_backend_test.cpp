// The example of docs/backend.md does what the page says.
#include "tests/compute/example_backend.hpp"

#include "forebay/compute/graph.hpp"
#include "tests/compute/test_backend.hpp"

using namespace forebay;
using namespace forebay::testing;

namespace {

/// A host device that computes with the example.
struct PlainHost {
  Host host = host_with(&example::use_plain_backend);
};

}  // namespace

TEST_CASE("the example backend computes expressions, views and reductions") {
  const PlainHost plain;
  const Host& host = plain.host;
  CHECK(compute::backend_of(host.device).executors().back()->name() == "plain");
  const Tensor x = host.f32({1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK((-x * 2.0F + 1.0F).to_host<float>() == std::vector<float>{-1, -3, -5, -7, -9, -11});
  CHECK((x.transpose() - 1.0F).to_host<float>() == std::vector<float>{0, 3, 1, 4, 2, 5});
  CHECK(x.sum().item() == 21);
  const int rows[] = {1};
  const int columns[] = {0};
  CHECK((x * 2.0F).mean(rows).to_host<float>() == std::vector<float>{4, 10});
  CHECK(x.sum(columns).to_host<float>() == std::vector<float>{5, 7, 9});
  CHECK((x + host.f32({10, 20, 30})).to_host<float>() ==
        std::vector<float>{11, 22, 33, 14, 25, 36});
}

TEST_CASE("the example backend multiplies matrices as they lie") {
  const PlainHost plain;
  const Host& host = plain.host;
  const Tensor a = host.f32({1, 2, 3, 4, 5, 6}, {2, 3});
  const std::vector<float> wanted{14, 32, 32, 77};
  CHECK(matmul(a, a.transpose()).to_host<float>() == wanted);
  const Tensor b = host.f32({1, 4, 2, 5, 3, 6}, {3, 2});
  CHECK(matmul(b.transpose(), b).to_host<float>() == wanted);
}

TEST_CASE("what the example backend does not know is an error, and nothing is lost") {
  const PlainHost plain;
  const Host& host = plain.host;
  const Tensor x = host.f32({1, 2, 3});
  CHECK(contains(message_of<Error>([&] { exp(x).eval(); }), "no operation exp"));
  const std::string knows = "knows f32, and sums and means of it";
  CHECK(contains(message_of<Error>([&] { (void)x.max(); }), knows));
  CHECK(contains(message_of<Error>([&] { (x + x).to(DType::f64).eval(); }), knows));
  CHECK(contains(message_of<Error>([&] { (host.i32({1}) + 1).eval(); }), knows));
  CHECK((x + x).to_host<float>() == std::vector<float>{2, 4, 6});
}

TEST_CASE("the example backend has graphs without a word about them") {
  const PlainHost plain;
  const Host& host = plain.host;
  const Tensor x = host.f32({1, 2, 3});
  Tensor total;
  const Graph graph = capture(host.device, [&] { total = (x * x).sum(); });
  graph.replay();
  CHECK(total.item() == 14);
  assign(x, host.f32({2, 2, 2}));
  graph.replay();
  CHECK(total.item() == 12);
}
