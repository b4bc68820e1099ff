#include "compute/row_programs.hpp"

#include <optional>

#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::compute;
using Kind = RowSource::Kind;

namespace {

void check(const RowProgram& rows, DType type) {
  INFO(rows.name << " of " << to_string(type));
  REQUIRE(rows.stages.size() > 1);
  std::size_t width = 0;
  for (std::size_t k = 0; k < rows.stages.size(); ++k) {
    const Program& program = rows.stages[k].program;
    const bool last = k + 1 == rows.stages.size();
    CHECK(program.rank == 2);
    CHECK(program.reduction.has_value() != last);
    CHECK(program.outputs.size() <= 1);
    REQUIRE(rows.stages[k].sources.size() == program.leaves.size());
    for (std::size_t n = 0; n < program.leaves.size(); ++n) {
      const RowSource source = rows.stages[k].sources[n];
      const bool linear = source.kind == Kind::input || source.kind == Kind::stored;
      CHECK(program.leaves[n].access == (linear ? Access::linear : Access::strided));
      if (source.kind == Kind::input || source.kind == Kind::column) continue;
      REQUIRE(source.index < k);
      const Program& from = rows.stages[source.index].program;
      const DType made =
          source.kind == Kind::stored
              ? from.type_of(from.outputs.at(0).value)
              : rule_of(from.reduction->op, from.type_of(from.reduction->value)).result;
      CHECK(made == program.leaves[n].type);
    }
    if (last) {
      CHECK(program.type_of(program.outputs.at(0).value) == type);
      continue;
    }
    CHECK(program.reduced_dims == 0b10);
    const DType reduced = program.type_of(program.reduction->value);
    CHECK_FALSE(rule_of(program.reduction->op, reduced).indexed);
    if (width == 0) width = size_of(reduced);
    CHECK(size_of(reduced) == width);
  }
}

}  // namespace

TEST_CASE("row programs hold their invariants in every type") {
  const std::optional<DType> none;
  for (const DType type : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    check(softmax_rows(type), type);
    check(log_softmax_rows(type), type);
    for (const std::optional<DType> weight : {none, std::optional(DType::f32)}) {
      for (const std::optional<DType> bias : {none, std::optional(DType::f16)}) {
        check(layer_norm_rows(type, weight, bias), type);
      }
    }
  }
}

TEST_CASE("a row program is made once") {
  CHECK(&softmax_rows(DType::f32) == &softmax_rows(DType::f32));
  CHECK(&softmax_rows(DType::f32) != &softmax_rows(DType::f16));
  CHECK(&softmax_rows(DType::f32) != &log_softmax_rows(DType::f32));
  CHECK(&layer_norm_rows(DType::f32, DType::f32, {}) != &layer_norm_rows(DType::f32, {}, {}));
}
