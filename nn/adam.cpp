#include "forebay/nn/adam.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <span>
#include <sstream>
#include <string>
#include <unordered_map>

#include "forebay/compute/backend.hpp"
#include "forebay/compute/dlpack.hpp"
#include "forebay/compute/graph.hpp"
#include "forebay/nn/autograd.hpp"
#include "forebay/pool/pool.hpp"
#include "nn/adam_kernel.hpp"
#include "nn/tape.hpp"

namespace forebay::nn {
namespace {

// Moments start on a sector of their own, so that no two blocks write one.
constexpr std::size_t kMomentAlignment = 8;
// Enough to fill a multiprocessor twice; with more chunks, blocks take several.
constexpr unsigned kBlocksPerMultiprocessor = 8;

void require(bool fits, const char* what, double value, const char* allowed) {
  if (fits) return;
  std::ostringstream line;
  line << "Adam: " << what << " is " << value << "; allowed is " << allowed;
  throw ConfigError(line.str());
}
/// For what the kernel takes as f32.
void require_f32(const char* what, double value) {
  require(value >= 0 && value <= std::numeric_limits<float>::max(), what, value,
          "a number from 0 to 3.40282e+38");
}
void require_valid(const AdamOptions& options) {
  require_f32("lr", options.lr());
  const auto [beta1, beta2] = options.betas();
  require(beta1 >= 0 && beta1 < 1, "the first beta", beta1, "from 0 to below 1");
  require(beta2 >= 0 && beta2 < 1, "the second beta", beta2, "from 0 to below 1");
  require_f32("eps", options.eps());
  require_f32("weight_decay", options.weight_decay());
}

// Structures live on the device as words of an i32 tensor.
template <typename T>
Tensor upload(std::span<const T> values, Device& device) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % sizeof(std::int32_t) == 0);
  std::vector<std::int32_t> words(values.size_bytes() / sizeof(std::int32_t));
  if (!words.empty()) std::memcpy(words.data(), values.data(), values.size_bytes());
  return from_host<std::int32_t>(words, {static_cast<std::int64_t>(words.size())}, device);
}

}  // namespace

class Adam::State {
 public:
  State(std::vector<Tensor> parameters, const AdamOptions& options) {
    require_valid(options);
    adopt(std::move(parameters));
    if (parameters_.empty()) return;
    const pool::AllocationScope scope("adam.state");
    const auto [beta1, beta2] = options.betas();
    const FbAdamState state{.beta1 = beta1,
                            .beta2 = beta2,
                            .weight1 = static_cast<float>(1 - beta1),
                            .weight2 = static_cast<float>(1 - beta2),
                            .eps = static_cast<float>(options.eps()),
                            .decay = static_cast<float>(options.weight_decay()),
                            .step = 0,
                            .ticket = 0};
    state_ = upload(std::span(&state, 1), *device_);
    // Both halves of a pair hold the first step's powers: a parameter may join at an odd step.
    const std::vector<FbAdamPowers> powers(2 * parameters_.size(), fb_adam_powers(beta1, beta2));
    powers_ = upload(std::span(powers), *device_);
    lr_ = full(Dims{1}, static_cast<float>(options.lr()), *device_);
    lr_.eval();
  }

  void step() {
    if (parameters_.empty()) return;
    device_->require_open();
    collect();
    if (!std::ranges::equal(current_, rows_, [](const FbAdamRow& a, const FbAdamRow& b) {
          return a.p == b.p && a.g == b.g;
        })) {
      if (capturing(*device_)) {
        throw CaptureError(
            "Adam: a parameter has its first gradient, or it moved, inside of a capture, which "
            "cannot upload its address; take one step before");
      }
      rebuild();
    }
    if (chunk_count_ == 0) return;
    launch();
  }

  void zero_grad() noexcept {
    for (Parameter& parameter : parameters_) parameter.leaf->clear();
  }

  void set_lr(double lr) {
    require_f32("lr", lr);
    if (!parameters_.empty()) assign(lr_, full(Dims{1}, static_cast<float>(lr), *device_));
  }

  [[nodiscard]] std::int64_t steps() const {
    if (parameters_.empty()) return 0;
    const std::vector<std::int32_t> words = state_.to_host<std::int32_t>();
    FbAdamState state;
    std::memcpy(&state, words.data(), sizeof state);
    return static_cast<std::int64_t>(state.step);
  }

 private:
  struct Parameter {
    Tensor value;
    Leaf* leaf = nullptr;  // value keeps it
    std::int64_t count = 0;
    float* m = nullptr;  // null until the first gradient
    float* v = nullptr;
    FbAdamPowers* powers = nullptr;
  };

  void adopt(std::vector<Tensor> parameters);
  void collect();
  void make_moments();
  void rebuild();
  void launch();

  std::shared_ptr<Device> device_;
  std::vector<Parameter> parameters_;
  std::vector<Tensor> values_;   // of the parameters
  Tensor state_;                 // FbAdamState
  Tensor powers_;                // two FbAdamPowers for each parameter
  Tensor lr_;                    // one f32
  std::vector<Tensor> moments_;  // m and v of the parameters that had their first gradient together
  std::vector<FbAdamRow> rows_;  // what the device's table holds
  std::vector<FbAdamRow> current_;  // what it should hold; a member to keep its storage
  Tensor row_table_;
  Tensor chunk_table_;
  unsigned chunk_count_ = 0;
};

void Adam::State::adopt(std::vector<Tensor> parameters) {
  std::unordered_map<const void*, std::size_t> seen;  // by address: two leaves may share storage
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string name = "parameter " + std::to_string(i);
    Leaf* leaf = as_leaf(parameters[i]);
    if (leaf == nullptr) {
      throw Error("Adam: " + name + " is no leaf; make it one with requires_grad");
    }
    if (!device_) device_ = parameters[i].device().shared_from_this();
    if (&parameters[i].device() != device_.get()) {
      throw ShapeError("Adam: " + name + " is on " + parameters[i].device().id_beside(*device_) +
                       ", parameter 0 on " + device_->id() + "; all must be on one device");
    }
    if (is_read_only(parameters[i])) {
      throw Error("Adam: " + name + " lies in another library's memory, which is for reading only");
    }
    const std::int64_t count = parameters[i].numel();
    if (count > 0) {
      const auto [first, inserted] = seen.emplace(parameters[i].data(), i);
      if (!inserted) {
        throw Error("Adam: " + name + " is parameter " + std::to_string(first->second) + " again");
      }
    }
    values_.push_back(parameters[i].detach());
    parameters_.push_back({.value = std::move(parameters[i]), .leaf = leaf, .count = count});
  }
}

// One block of zeros for all that have none yet.
void Adam::State::make_moments() {
  const auto padded = [](std::int64_t count) {
    return (static_cast<std::size_t>(count) + kMomentAlignment - 1) / kMomentAlignment *
           kMomentAlignment;
  };
  const auto needs = [](const Parameter& parameter) {
    return parameter.m == nullptr && parameter.count > 0 && parameter.leaf->value().defined();
  };
  std::size_t total = 0;
  for (const Parameter& parameter : parameters_) {
    if (needs(parameter)) total += 2 * padded(parameter.count);
  }
  if (total == 0) return;
  const pool::AllocationScope scope("adam.moments");
  moments_.push_back(zeros(Dims{static_cast<std::int64_t>(total)}, *device_));
  auto* next = static_cast<float*>(moments_.back().data());
  auto* powers = static_cast<FbAdamPowers*>(powers_.data());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Parameter& parameter = parameters_[i];
    if (!needs(parameter)) continue;
    parameter.m = next;
    parameter.v = next + padded(parameter.count);
    next = parameter.v + padded(parameter.count);
    parameter.powers = powers + 2 * i;
  }
}

// A row for every parameter with a gradient.
void Adam::State::collect() {
  current_.clear();
  for (const Parameter& parameter : parameters_) {
    const Tensor& gradient = parameter.leaf->value();
    if (!gradient.defined() || parameter.count == 0) continue;
    current_.push_back({.p = static_cast<float*>(parameter.value.data()),
                        .g = static_cast<const float*>(gradient.data()),
                        .m = parameter.m,
                        .v = parameter.v,
                        .powers = parameter.powers,
                        .count = parameter.count});
  }
}

void Adam::State::rebuild() {
  make_moments();
  collect();
  std::vector<FbAdamChunk> chunks;
  for (std::size_t r = 0; r < current_.size(); ++r) {
    const std::int64_t count = (current_[r].count + FB_ADAM_CHUNK - 1) / FB_ADAM_CHUNK;
    for (std::int64_t c = 0; c < count; ++c) {
      chunks.push_back({static_cast<unsigned>(r), static_cast<unsigned>(c)});
    }
  }
  const pool::AllocationScope scope("adam.table");
  row_table_ = upload(std::span<const FbAdamRow>(current_), *device_);
  chunk_table_ = upload(std::span<const FbAdamChunk>(chunks), *device_);
  chunk_count_ = static_cast<unsigned>(chunks.size());
  rows_ = current_;
  device_->counters().tensor_tables.fetch_add(1, std::memory_order_relaxed);
}

void Adam::State::launch() {
  const void* rows = row_table_.data();
  const void* chunks = chunk_table_.data();
  const void* lr = lr_.data();
  void* state = state_.data();
  if (capturing(*device_)) {
    // The rows name them by address; a graph keeps alive what somebody asks the address of.
    for (const Tensor& moments : moments_) (void)moments.data();
    (void)powers_.data();
  }
  const std::array<void*, 5> arguments{&rows, &chunks, &chunk_count_, &lr, &state};
  const unsigned blocks =
      std::min(chunk_count_,
               kBlocksPerMultiprocessor * static_cast<unsigned>(device_->info().multiprocessors));
  const auto lock = compute::lock_backend(*device_);
  compute::will_write(values_);
  compute::backend_of(*device_).run(adam_kernel(), arguments, blocks, device_->default_stream());
}

Adam::Adam(std::vector<Tensor> parameters, const AdamOptions& options)
    : state_(std::make_unique<State>(std::move(parameters), options)) {}
Adam::Adam(Adam&& other) noexcept = default;
Adam& Adam::operator=(Adam&& other) noexcept = default;
Adam::~Adam() = default;

Adam::State& Adam::state() const {
  if (!state_) throw Error("Adam: this one was moved from; use the one that it was moved to");
  return *state_;
}

void Adam::step() { state().step(); }
void Adam::zero_grad() { state().zero_grad(); }
void Adam::set_lr(double lr) { state().set_lr(lr); }
std::int64_t Adam::steps() const { return state().steps(); }

}  // namespace forebay::nn
