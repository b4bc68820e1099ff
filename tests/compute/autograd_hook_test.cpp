#include "forebay/compute/autograd_hook.hpp"

#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::compute;
using namespace forebay::testing;

namespace {

// Writes down what it sees, and follows outputs.
struct Recorder : AutogradHook, std::enable_shared_from_this<Recorder> {
  struct Entry {
    Action action;
    Op op;
    std::vector<Dims> inputs;
    Dims output;
    bool output_had_hook;
    std::vector<int> axes;
  };
  std::vector<Entry> entries;
  bool follow = true;

  std::shared_ptr<AutogradHook> record(const ActionRecord& r) override {
    Entry entry{r.action,
                r.op,
                {},
                r.output.shape(),
                r.output.autograd() != nullptr,
                {r.axes.begin(), r.axes.end()}};
    for (const Tensor& input : r.inputs) entry.inputs.push_back(input.shape());
    entries.push_back(entry);
    return follow ? shared_from_this() : nullptr;
  }
};

struct Recorded {
  Host host;
  std::shared_ptr<Recorder> recorder = std::make_shared<Recorder>();
  Tensor tensor(const Dims& shape) const {
    Tensor t = counting(host, shape);
    t.set_autograd(recorder);
    return t;
  }
  [[nodiscard]] const Recorder::Entry& last() const { return recorder->entries.back(); }
};

}  // namespace

TEST_CASE("every operation is recorded with its inputs as given") {
  const Recorded r;
  const Tensor t = r.tensor({2, 3});
  const Tensor plain = counting(r.host, {3});
  using Shapes = std::vector<Dims>;

  Tensor out = t + plain;
  CHECK(r.last().action == Action::elementwise);
  CHECK(r.last().op == Op::add);
  CHECK(r.last().inputs == Shapes{{2, 3}, {3}});
  CHECK(r.last().output == Dims{2, 3});
  CHECK_FALSE(r.last().output_had_hook);
  CHECK(out.autograd() == r.recorder);

  out = 2.0 - t;
  CHECK(r.last().op == Op::sub);
  CHECK(r.last().inputs == Shapes{Dims(), {2, 3}});
  out = where(plain, plain, t);
  CHECK(r.last().op == Op::select);
  CHECK(r.last().inputs.size() == 3);
  out = t.to(DType::i32);
  CHECK(r.last().op == Op::to_i32);
  out = plain.to(DType::i32) * t;  // the cast of an operand is no operation of its own
  CHECK(r.last().op == Op::mul);
  CHECK(r.recorder->entries.size() == 5);

  const std::vector<int> last_axis{-1};
  out = t.sum(last_axis);
  CHECK(r.last().action == Action::sum);
  CHECK(r.last().axes == std::vector<int>{1});
  out = t.mean();
  CHECK(r.last().action == Action::mean);
  CHECK(r.last().axes == std::vector<int>{0, 1});
  CHECK(r.last().output == Dims());
  out = matmul(t, counting(r.host, {3, 4}));
  CHECK(r.last().action == Action::matmul);
  CHECK(r.last().inputs == Shapes{{2, 3}, {3, 4}});
  out = t.reshape({6});
  CHECK(r.last().action == Action::reshape);
  out = t.transpose();
  CHECK(r.last().action == Action::transpose);
  CHECK(r.last().axes == std::vector<int>{0, 1});
  out = t.broadcast_to({4, 2, 3});
  CHECK(r.last().action == Action::broadcast);
  CHECK(r.recorder->entries.size() == 11);
}

TEST_CASE("consumed inputs are still there when they are recorded") {
  const Recorded r;
  Tensor t = r.tensor({4});
  t = std::move(t) * 3.0;
  CHECK(r.last().inputs[0] == Dims{4});
  CHECK(std::move(t).sum().item() == 18);
  CHECK(r.last().action == Action::sum);
  CHECK(r.last().inputs[0] == Dims{4});
}

TEST_CASE("tensors without a hook are not recorded, and detached ones have none") {
  const Recorded r;
  const Tensor t = r.tensor({2});
  CHECK((t.detach() + 1.0).autograd() == nullptr);
  CHECK((counting(r.host, {2}) + 1.0).autograd() == nullptr);
  CHECK(r.recorder->entries.empty());
  r.recorder->follow = false;
  CHECK((t + 1.0).autograd() == nullptr);
  CHECK(r.recorder->entries.size() == 1);
}
