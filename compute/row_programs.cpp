#include "compute/row_programs.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>

namespace forebay::compute {
namespace {

using Kind = RowSource::Kind;

/// Puts a stage together: leaves first, then scalars, then instructions.
class StageWriter {
 public:
  StageWriter() { stage_.program.rank = 2; }

  Value leaf(DType type, RowSource source) {
    const bool linear = source.kind == Kind::input || source.kind == Kind::stored;
    stage_.program.leaves.push_back({type, linear ? Access::linear : Access::strided});
    stage_.sources.push_back(source);
    return next();
  }
  Value scalar(DType type) {
    stage_.program.scalars.push_back(type);
    return next();
  }
  Value apply(Op op, DType type, Value a, Value b = 0) {
    stage_.program.code.push_back({op, type, a, b, 0});
    return next();
  }
  /// The value in another type, or itself if that is its own.
  Value cast(Value value, DType type) {
    if (stage_.program.type_of(value) == type) return value;
    return apply(cast_to(type), type, value);
  }
  RowStage store(Value value) {
    stage_.program.outputs.push_back({value});
    return std::move(stage_);
  }
  RowStage reduce(ReduceOp op, Value value) {
    stage_.program.reduction = Reduction{op, value};
    stage_.program.reduced_dims = 0b10;
    return std::move(stage_);
  }
  RowStage store_and_reduce(Value stored, ReduceOp op, Value value) {
    stage_.program.outputs.push_back({stored});
    return reduce(op, value);
  }

 private:
  [[nodiscard]] Value next() const {
    const Program& program = stage_.program;
    return static_cast<Value>(program.leaves.size() + program.scalars.size() + program.code.size() -
                              1);
  }
  RowStage stage_;
};

DType computed_in(DType type) { return type == DType::f64 ? DType::f64 : DType::f32; }

RowStage largest(DType type) {
  StageWriter stage;
  const Value x = stage.cast(stage.leaf(type, {Kind::input, 0}), computed_in(type));
  return stage.reduce(ReduceOp::max, x);
}

// Reduces e^(x - max) to its sum; what is stored for the last stage is that power, or x - max.
enum class Kept : std::uint8_t { power, low };
RowStage sum_of_powers(DType type, Kept kept) {
  const DType wide = computed_in(type);
  StageWriter stage;
  const Value x = stage.leaf(type, {Kind::input, 0});
  const Value most = stage.leaf(wide, {Kind::row, 0});
  const Value low = stage.apply(Op::sub, wide, stage.cast(x, wide), most);
  const Value power = stage.apply(Op::exp, wide, low);
  return stage.store_and_reduce(kept == Kept::power ? power : low, ReduceOp::sum, power);
}

RowProgram make_softmax(DType type) {
  const DType wide = computed_in(type);
  RowProgram made{.name = "softmax", .stages = {}};
  made.stages.push_back(largest(type));
  made.stages.push_back(sum_of_powers(type, Kept::power));
  StageWriter stage;
  const Value power = stage.leaf(wide, {Kind::stored, 1});
  const Value sum = stage.leaf(wide, {Kind::row, 1});
  const Value one = stage.scalar(wide);
  const Value share = stage.apply(Op::div, wide, one, sum);
  made.stages.push_back(stage.store(stage.cast(stage.apply(Op::mul, wide, power, share), type)));
  return made;
}

RowProgram make_log_softmax(DType type) {
  const DType wide = computed_in(type);
  RowProgram made{.name = "log_softmax", .stages = {}};
  made.stages.push_back(largest(type));
  made.stages.push_back(sum_of_powers(type, Kept::low));
  StageWriter stage;
  const Value low = stage.leaf(wide, {Kind::stored, 1});
  const Value sum = stage.leaf(wide, {Kind::row, 1});
  const Value result = stage.apply(Op::sub, wide, low, stage.apply(Op::log, wide, sum));
  made.stages.push_back(stage.store(stage.cast(result, type)));
  return made;
}

RowProgram make_layer_norm(DType type, std::optional<DType> weight, std::optional<DType> bias) {
  const DType wide = computed_in(type);
  RowProgram made{.name = "layer_norm", .stages = {}};
  {
    StageWriter stage;
    const Value x = stage.cast(stage.leaf(type, {Kind::input, 0}), wide);
    made.stages.push_back(stage.reduce(ReduceOp::mean, x));
  }
  {
    StageWriter stage;
    const Value x = stage.leaf(type, {Kind::input, 0});
    const Value mean = stage.leaf(wide, {Kind::row, 0});
    const Value centred = stage.apply(Op::sub, wide, stage.cast(x, wide), mean);
    const Value square = stage.apply(Op::mul, wide, centred, centred);
    made.stages.push_back(stage.store_and_reduce(centred, ReduceOp::mean, square));
  }
  StageWriter stage;
  const Value centred = stage.leaf(wide, {Kind::stored, 1});
  const Value variance = stage.leaf(wide, {Kind::row, 1});
  std::uint8_t input = 0;
  const auto column = [&](DType of) { return stage.leaf(of, {Kind::column, ++input}); };
  const Value w = weight ? column(*weight) : Value{0};
  const Value b = bias ? column(*bias) : Value{0};
  const Value eps = stage.scalar(wide);
  const Value scale = stage.apply(Op::rsqrt, wide, stage.apply(Op::add, wide, variance, eps));
  Value result = stage.apply(Op::mul, wide, centred, scale);
  if (weight) result = stage.apply(Op::mul, wide, result, stage.cast(w, wide));
  if (bias) result = stage.apply(Op::add, wide, result, stage.cast(b, wide));
  made.stages.push_back(stage.store(stage.cast(result, type)));
  return made;
}

/// Makes what `key` stands for once, and keeps it.
template <typename Key, typename Make>
const RowProgram& kept(const Key& key, Make&& make) {
  // Never destroyed: a thread that compiles may need them until the very end.
  static std::mutex& mutex = *new std::mutex;
  static auto& programs = *new std::map<Key, std::unique_ptr<const RowProgram>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<const RowProgram>& program = programs[key];
  if (program == nullptr) program = std::make_unique<const RowProgram>(make());
  return *program;
}

}  // namespace

const RowProgram& softmax_rows(DType type) {
  return kept(type, [&] { return make_softmax(type); });
}

const RowProgram& log_softmax_rows(DType type) {
  return kept(type, [&] { return make_log_softmax(type); });
}

const RowProgram& layer_norm_rows(DType type, std::optional<DType> weight,
                                  std::optional<DType> bias) {
  return kept(std::tuple(type, weight, bias), [&] { return make_layer_norm(type, weight, bias); });
}

}  // namespace forebay::compute
