#include "compute/lower.hpp"

#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::compute;
using namespace forebay::testing;

namespace {

struct Lowered {
  Walk walk;
  Lowering lowering;
  FusionLimits limits{FusionConfig{}, Limits{}, std::size_t{1} << 30};

  bool operator()(std::initializer_list<const Tensor*> tensors) {
    std::vector<Node*> roots;
    for (const Tensor* tensor : tensors) roots.push_back(tensor->node().get());
    return lowering.run({.roots = roots}, limits, walk);
  }
  bool reduce(const Tensor& tensor, std::uint8_t dims, std::uint32_t own) {
    Node* const root = tensor.node().get();
    return lowering.run(
        {.roots = {&root, 1}, .reduce = ReduceOp::sum, .reduced_dims = dims, .own_references = own},
        limits, walk);
  }
  [[nodiscard]] const Program& program() const { return lowering.program; }
  [[nodiscard]] const Binding& binding() const { return lowering.binding; }
};

}  // namespace

TEST_CASE("leaves, scalars and instructions are numbered in that order") {
  const Host host;
  const Tensor a = host.f32({1, 2});
  const Tensor b = host.f32({3, 4});
  const Tensor root = (a - b) * 2.5;
  Lowered lower;
  REQUIRE(lower({&root}));
  CHECK(lower.program().key() == "r1;flfl;f;sub:f,0,1;mul:f,3,2;=4");
  CHECK(lower.binding().extents == Dims{2});
  CHECK(lower.binding().leaves == std::vector<const void*>{a.data(), b.data()});
  CHECK(lower.binding().scalars == std::vector<std::uint64_t>{std::bit_cast<std::uint32_t>(2.5F)});
}

TEST_CASE("equal leaves, scalars and shared nodes appear once") {
  const Host host;
  const Tensor a = host.f32({1, 2, 3, 4}, {2, 2});
  const Tensor same_elements = a.reshape({4}).reshape({2, 2});
  const Tensor turned = a.transpose();
  const Tensor turned_too = a.transpose();
  const Tensor x = a + 1.0;
  const Tensor root = (x + same_elements) * (turned + turned_too) - (x + 1.0F);
  Lowered lower;
  REQUIRE(lower({&root}));
  CHECK(lower.program().leaves.size() == 2);
  CHECK(lower.program().scalars.size() == 1);
  CHECK(lower.program().code.size() == 6);
}

TEST_CASE("a program knows structure, not sizes") {
  const Host host;
  Lowered lower;
  const Tensor small = host.f32({1, 2}) + 1.0;
  REQUIRE(lower({&small}));
  const std::string key = lower.program().key();
  const Tensor large = counting(host, {10, 20, 30}) + 7.0;
  REQUIRE(lower({&large}));
  CHECK(lower.program().key() == key);
  CHECK(lower.binding().extents == Dims{6000});
}

TEST_CASE("nodes that somebody else holds are stored too") {
  const Host host;
  const Tensor a = host.f32({1, 2});
  const Tensor held = a + 1.0;
  const Tensor root = exp(held) * 2.0;
  Lowered lower;
  REQUIRE(lower({&root}));
  REQUIRE(lower.lowering.stored.size() == 2);
  CHECK(lower.lowering.stored[0] == root.node().get());
  CHECK(lower.lowering.stored[1] == held.node().get());

  Tensor temporary = a + 1.0;
  const Tensor alone = exp(std::move(temporary)) * 2.0;
  REQUIRE(lower({&alone}));
  CHECK(lower.lowering.stored.size() == 1);
}

TEST_CASE("the topmost held nodes are stored when there are too many") {
  const Host host;
  std::vector<Tensor> held{host.f32({1, 2})};
  for (int i = 0; i < 20; ++i) held.push_back(held.back() + 1.0);
  Lowered lower;
  REQUIRE(lower({&held.back()}));
  REQUIRE(lower.lowering.stored.size() == lower.limits.most.outputs);
  for (std::size_t i = 0; i < lower.limits.most.outputs; ++i) {
    CHECK(lower.lowering.stored[i] == held[held.size() - 1 - i].node().get());
  }
}

TEST_CASE("several roots are outputs of one program") {
  const Host host;
  const Tensor a = host.f32({1, 2});
  const Tensor x = a + 1.0;
  const Tensor y = x * 2.0;
  Lowered lower;
  REQUIRE(lower({&x, &y}));
  CHECK(lower.program().outputs.size() == 2);
  CHECK(lower.lowering.stored == std::vector<Node*>{x.node().get(), y.node().get()});
  // A node is stored once, whoever asks; equal numbers are stored for each.
  REQUIRE(lower({&x, &x, &y}));
  CHECK(lower.program().outputs.size() == 2);
  const Tensor one = full({2}, 1.0F, host.device);
  const Tensor also_one = ones({2}, host.device);
  REQUIRE(lower({&one, &also_one}));
  CHECK(lower.program().outputs.size() == 2);
  CHECK(lower.program().scalars.size() == 1);
}

TEST_CASE("leaves say how they are read") {
  const Host host;
  const Tensor matrix = counting(host, {3, 4});
  const Tensor row = host.f32({1, 2, 3, 4});
  const Tensor one = host.f32({5}, {1, 1});
  const Tensor root = matrix + row + one;
  Lowered lower;
  REQUIRE(lower({&root}));
  REQUIRE(lower.program().leaves.size() == 3);
  CHECK(lower.program().leaves[0].access == Access::linear);
  CHECK(lower.program().leaves[1].access == Access::strided);
  CHECK(lower.program().leaves[2].access == Access::single);
  CHECK(lower.program().rank == 2);
  CHECK(lower.binding().strides[0].empty());
  CHECK(lower.binding().strides[1] == Dims{0, 1});
  CHECK(lower.binding().strides[2].empty());
}

TEST_CASE("a reduced expression is stored for other holders only") {
  const Host host;
  const Tensor held = host.f32({1, 2, 3, 4, 5, 6}, {2, 3}) + 1.0;
  Lowered lower;
  REQUIRE(lower.reduce(held, 0b01, 0));
  CHECK(lower.program().key() == "r2;fl;f;add:f,0,1;=2;sum2/1");
  CHECK(lower.binding().extents == Dims{2, 3});
  // The holder's reference is the reduction's own.
  REQUIRE(lower.reduce(held, 0b10, 1));
  CHECK(lower.program().outputs.empty());
  CHECK(lower.program().reduced_dims == 0b10);
}

TEST_CASE("beyond the limits nothing is made") {
  const Host host;
  Lowered lower;
  lower.limits.most.ops = 2;
  lower.limits.most.leaves = 2;
  lower.limits.most.scalars = 1;
  const Tensor a = host.f32({1});
  const Tensor b = host.f32({2});
  const Tensor c = host.f32({3});
  const Tensor fits = a + b;
  const Tensor leaves = a + b + c;
  const Tensor ops = -(-(-a));
  const Tensor scalars = (a + 1.0) + 2.0;
  CHECK(lower({&fits}));
  CHECK_FALSE(lower({&leaves}));
  CHECK_FALSE(lower({&ops}));
  CHECK_FALSE(lower({&scalars}));
  CHECK(lower({&fits}));
}
