#include "forebay/compute/autograd_hook.hpp"

#include "forebay/compute/shaping.hpp"
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
    std::vector<std::int64_t> starts;
  };
  std::vector<Entry> entries;
  bool follow = true;

  std::shared_ptr<AutogradHook> record(const ActionRecord& r) override {
    Entry entry{r.action,
                r.op,
                {},
                r.output.shape(),
                r.output.autograd() != nullptr,
                {r.axes.begin(), r.axes.end()},
                {r.starts.begin(), r.starts.end()}};
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

TEST_CASE("parts are recorded with where they begin") {
  const Recorded r;
  const Tensor t = r.tensor({5, 3});
  using Starts = std::vector<std::int64_t>;
  Tensor out = t.prod();
  CHECK(r.last().action == Action::prod);
  out = t.min();
  CHECK(r.last().action == Action::extreme);
  out = narrow(t, 0, -3, 2);
  CHECK(r.last().action == Action::narrow);
  CHECK(r.last().axes == std::vector<int>{0});
  CHECK(r.last().starts == Starts{2});
  out = slice(t, 0, 1, 5, 2);
  CHECK(r.last().action == Action::other);
  out = flip(t, -1);
  CHECK(r.last().action == Action::flip);
  CHECK(r.last().axes == std::vector<int>{1});
  const Tensor plain = counting(r.host, {2, 3});
  out = cat(std::vector<Tensor>{plain, t, plain}, 0);
  CHECK(r.last().action == Action::cat);
  CHECK(r.last().starts == Starts{0, 2, 7});
  CHECK(r.recorder->entries.size() == 6);
  // Threes of five: two pieces of two, one of one, and the whole of them.
  out = cat(std::vector<Tensor>{t, t, plain, plain, t}, 0);
  CHECK(out.shape() == Dims{19, 3});
  CHECK(r.last().starts == Starts{0, 10, 14});
  (void)t.argmin();
  CHECK(r.last().action == Action::cat);
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
