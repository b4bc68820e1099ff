#include "compute/cuda/row_kernel.hpp"

#include <algorithm>
#include <vector>

#include "compute/cuda/codegen.hpp"
#include "compute/cuda/program_text.hpp"
#include "compute/cuda/reduce_text.hpp"
#include "compute/cuda/row_plan.hpp"
#include "compute/cuda/text.hpp"

namespace forebay::cuda {

using compute::Program;
using compute::RowProgram;
using compute::RowSource;
using compute::RowStage;
using Kind = compute::RowSource::Kind;

namespace {

/// Blocks that a multiprocessor should hold: as many as the registers allow without spilling, since
/// while some rows wait for their threads, the others should use the memory.
unsigned residents(unsigned steps, const std::vector<RowInput>& inputs) {
  if (steps > 2) return steps == 4 ? 3 : 2;
  return inputs.size() > 1 ? 4 : steps == 2 ? 5 : 6;
}

/// Writes the kernel of one row program.
class Writer {
 public:
  Writer(const RowProgram& program, unsigned steps)
      : program_(program),
        steps_(steps),
        rows_(rows_of_thread(steps)),
        inputs_(row_inputs(program)),
        shape_{.elements = kStepElements, .passes = 1, .run = row_run(program), .vector = true} {}

  std::string run() {
    text_.block(kHelpers);
    std::vector<const Program*> programs;
    for (const RowStage& stage : program_.stages) programs.push_back(&stage.program);
    narrow_forms(text_, programs);
    arguments();
    for (std::size_t k = 0; k + 1 < program_.stages.size(); ++k) {
      declare_reduction(text_, rule(k), number(k));
    }
    // Where every row is as long as the kernel's, no element needs a test.
    text_.block(R"(template <bool kWhole>
FB_FN void fb_rows(const Args& a, unsigned long long* words) {
  const unsigned thread = threadIdx.x;
  const unsigned group = 1u << a.group_log2, columns = 1u << a.columns_log2;
  const unsigned member = thread & (group - 1);
)");
    text_.line("  long long base[", rows_, "];");
    text_.line("  int ends[", rows_, "];");
    text_.line("  #pragma unroll");
    text_.line("  for (int u = 0; u < ", rows_, "; ++u) {");
    text_.line("    const long long row = ((long long)blockIdx.x * ", rows_,
               " + u) * columns + (thread >> a.group_log2);");
    text_.line("    base[u] = row * a.reduced;");
    text_.line("    ends[u] = row < a.kept ? (int)a.reduced : 0;");
    text_.line("  }");
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      if (inputs_[k].column) continue;
      text_.line("  ", memory_name(inputs_[k].type), " in", k, "[", held(), "];");
      each_step();
      load(k, "(in" + number(k) + " + " + step() + ")", "base[u] + r");
      text_.line("  }}");
    }
    for (std::size_t k = 0; k < program_.stages.size(); ++k) stage(k);
    text_.line("}");
    text_.line("extern \"C\" __global__ void __launch_bounds__(", kReduceThreads, ", ",
               residents(steps_, inputs_), ") ", kRowEntry, "(const __grid_constant__ Args a) {");
    text_.line("  __shared__ unsigned long long words[", rows_ * kReduceThreads, "];");
    text_.line("  const unsigned columns = 1u << a.columns_log2;");
    text_.line("  if (a.vector && a.reduced == (long long)(", steps_ * kStepElements,
               "u << a.group_log2) && (blockIdx.x + 1LL) * (columns * ", rows_, ") <= a.kept) {");
    text_.line("    fb_rows<true>(a, words);");
    text_.line("  } else {");
    text_.line("    fb_rows<false>(a, words);");
    text_.line("  }");
    text_.line("}");
    return with_prelude(std::move(text_).str());
  }

 private:
  static std::string number(std::size_t k) { return std::to_string(k); }

  [[nodiscard]] compute::ReduceRule rule(std::size_t k) const {
    const Program& program = program_.stages[k].program;
    return rule_of(program.reduction->op, program.type_of(program.reduction->value));
  }

  void arguments() {
    text_.line("struct Args {");
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      text_.line("  const ", memory_name(inputs_[k].type), "* in", k, ";");
    }
    text_.line("  ", memory_name(row_output(program_)), "* out;");
    text_.line("  long long kept, reduced;");
    for (const std::size_t size : {8U, 4U}) {
      if (size == 4) text_.line("  unsigned group_log2, columns_log2, vector;");
      std::size_t k = 0;
      for (const RowStage& stage : program_.stages) {
        for (const DType type : stage.program.scalars) {
          if (size_of(type) == size) text_.line("  ", type_name(type), " scalar", k, ";");
          ++k;
        }
      }
    }
    text_.line("};");
  }

  [[nodiscard]] unsigned held() const { return rows_ * steps_ * kStepElements; }
  /// The element of an array of all that a thread holds.
  [[nodiscard]] std::string element() const { return "[" + step() + " + e]"; }
  /// Where step s of row u begins in it.
  [[nodiscard]] std::string step() const {
    return "(u * " + number(steps_) + " + s) * " + number(kStepElements);
  }

  /// The heads of the loops over a thread's rows and the steps of each; `u`, `end`, `s` and `start`
  /// are theirs.
  void each_step() {
    text_.line("  #pragma unroll");
    text_.line("  for (int u = 0; u < ", rows_, "; ++u) {");
    text_.line("  const int end = ends[u];");
    text_.line("  #pragma unroll");
    text_.line("  for (int s = 0; s < ", steps_, "; ++s) {");
    text_.line("    const int start = s * (int)(group * ", kStepElements, ");");
  }
  void each_element() {
    text_.line("      #pragma unroll");
    text_.line("      for (int e = 0; e < ", kStepElements, "; ++e) {");
    text_.line("        const int r = start + (int)((e / ", shape_.run, ") * group + member) * ",
               shape_.run, " + e % ", shape_.run, ";");
  }
  void each_run() {
    text_.line("      #pragma unroll");
    text_.line("      for (int q = 0; q < ", kStepElements / shape_.run, "; ++q) {");
    text_.line("        const int r = start + (int)(q * group + member) * ", shape_.run, ";");
  }
  void if_whole() {
    text_.line("    if (kWhole || (a.vector && start + (int)group * ", kStepElements,
               " <= end)) {");
  }

  /// A step of input k to `array`, from `place`, an expression of r.
  void load(std::size_t k, const std::string& array, const std::string& place) {
    const std::string from = "a.in" + number(k);
    if_whole();
    each_run();
    load_packs(text_, shape_, inputs_[k].type, "w", from + " + " + place, array);
    text_.line("      }");
    text_.line("    } else {");
    each_element();
    text_.line("        if (r < end) ", array, "[e] = ", from, "[", place, "];");
    text_.line("      }");
    text_.line("    }");
  }

  void stage(std::size_t k) {
    const RowStage& stage = program_.stages[k];
    const Program& program = stage.program;
    const bool last = !program.reduction;
    const std::string of = number(k);
    if (last) {
      text_.line("  {");
    } else {
      if (!program.outputs.empty()) {
        text_.line("  ", type_name(program.type_of(program.outputs.front().value)), " stored", k,
                   "[", held(), "];");
      }
      text_.line("  ", type_name(rule(k).result), " row", k, "[", rows_, "];");
      text_.line("  {");
      text_.line("  const Sum", of, " nothing = ", identity_text(rule(k).identity, rule(k).total),
                 ";");
      text_.line("  Sum", of, " total[", rows_, "];");
      text_.line("  #pragma unroll");
      text_.line("  for (int u = 0; u < ", rows_, "; ++u) total[u] = nothing;");
    }
    each_step();
    text_.line("    if (kWhole || start < end) {");
    for (std::size_t leaf = 0; leaf < stage.sources.size(); ++leaf) {
      if (stage.sources[leaf].kind != Kind::column) continue;
      const std::size_t input = stage.sources[leaf].index;
      text_.line("    ", memory_name(inputs_[input].type), " column", input, "[", kStepElements,
                 "];");
      load(input, "column" + number(input), "r");
    }
    if (last) {
      text_.line("    ", memory_name(row_output(program_)), " y[", kStepElements, "];");
    } else {
      text_.line("    Term", of, " t[", kStepElements, "];");
    }
    each_element();
    values(k);
    for (const compute::Output& output : program.outputs) {
      text_.line("        ", last ? std::string("y[e]") : "stored" + of + element(), " = v",
                 output.value, ";");
    }
    if (!last) {
      text_.line("        t[e] = kWhole || r < end ? ",
                 cast_text(rule(k).term, "v" + number(program.reduction->value)), " : (Term", of,
                 ")nothing;");
    }
    text_.line("      }");
    if (last) {
      store();
    } else {
      text_.line("    total[u] = fb_join", of, "(total[u], ",
                 cast_text(rule(k).total, tree_text(join_text(rule(k)))), ");");
    }
    text_.line("    }");
    text_.line("  }}");
    if (!last) fold(k);
    text_.line("  }");
  }

  /// The values of an element in a stage.
  void values(std::size_t k) {
    const RowStage& stage = program_.stages[k];
    for (std::size_t leaf = 0; leaf < stage.sources.size(); ++leaf) {
      const RowSource source = stage.sources[leaf];
      const std::string index = number(source.index);
      const std::string from = source.kind == Kind::input    ? "in" + index + element()
                               : source.kind == Kind::column ? "column" + index + "[e]"
                               : source.kind == Kind::stored ? "stored" + index + element()
                                                             : "row" + index + "[u]";
      text_.line("        const ", type_name(stage.program.leaves[leaf].type), " v", leaf, " = ",
                 from, ";");
    }
    std::size_t scalar = 0;
    for (std::size_t before = 0; before < k; ++before) {
      scalar += program_.stages[before].program.scalars.size();
    }
    for (std::size_t n = 0; n < stage.program.scalars.size(); ++n) {
      text_.line("        const ", type_name(stage.program.scalars[n]), " v",
                 stage.program.leaves.size() + n, " = a.scalar", scalar + n, ";");
    }
    ProgramText(stage.program, shape_).code(text_);
  }

  void store() {
    if_whole();
    each_run();
    store_packs(text_, shape_, row_output(program_), "w", "y", "a.out + base[u] + r");
    text_.line("      }");
    text_.line("    } else {");
    each_element();
    text_.line("        if (r < end) a.out[base[u] + r] = y[e];");
    text_.line("      }");
    text_.line("    }");
  }

  /// The tree over the threads of a row, whose result all of them take.
  void fold(std::size_t k) {
    const std::string of = number(k);
    const std::string own = "fold[u * " + number(kReduceThreads) + " + thread";
    const auto each_row = [&](const auto&... parts) {
      text_.line("      #pragma unroll");
      text_.line("      for (int u = 0; u < ", rows_, "; ++u) ", parts...);
    };
    text_.line("  Sum", of, "* const fold = (Sum", of, "*)words;");
    each_row(own, "] = total[u];");
    text_.line("  for (unsigned half = group >> 1; half > 0; half >>= 1) {");
    text_.line("    __syncthreads();");
    text_.line("    if (member < half) {");
    each_row("total[u] = fb_join", of, "(total[u], ", own, " + half]);");
    each_row(own, "] = total[u];");
    text_.line("    }");
    text_.line("  }");
    text_.line("  __syncthreads();");
    each_row("{");
    text_.line("      const Sum", of, " whole = ", own, " - member];");
    text_.line("      row", k, "[u] = ",
               cast_text(rule(k).result, rule(k).divides ? "whole / (double)a.reduced" : "whole"),
               ";");
    text_.line("      }");
    // The next stage folds in the same words.
    text_.line("  __syncthreads();");
  }

  const RowProgram& program_;
  const unsigned steps_, rows_;
  const std::vector<RowInput> inputs_;
  const KernelShape shape_;
  Text text_;
};

}  // namespace

std::string generate_row_kernel(const RowProgram& program, unsigned steps) {
  return Writer(program, steps).run();
}

}  // namespace forebay::cuda
