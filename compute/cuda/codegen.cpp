#include "compute/cuda/codegen.hpp"

#include <algorithm>
#include <vector>

#include "compute/cuda/kernel_arguments.hpp"
#include "compute/cuda/program_text.hpp"
#include "compute/cuda/reduce_text.hpp"
#include "compute/cuda/tile_text.hpp"
#include "compute/prelude_text.hpp"

namespace forebay::cuda {

using compute::Access;
using compute::Program;

namespace {

std::vector<unsigned> dimensions(const Program& program, bool reduced) {
  std::vector<unsigned> dims;
  for (unsigned d = 0; d < program.rank; ++d) {
    if ((program.reduced_dims >> d & 1) == reduced) dims.push_back(d);
  }
  return dims;
}

void signature(Text& text, const Program& program, const KernelShape& shape) {
  text.block(declare_arguments(program, shape.tiled()));
  text.line("extern \"C\" __global__ void __launch_bounds__(", shape.threads, ", ", shape.residents,
            ") ", kernel_entry(program), "(const __grid_constant__ Args a) {");
}

/// The heads of the loops over a thread's batches, the elements of a batch, and its runs.
void each_pass(Text& text, const KernelShape& shape) {
  text.line("    #pragma unroll 1");
  text.line("    for (int n = 0; n < ", shape.passes, "; ++n) {");
}
void each_element(Text& text, const KernelShape& shape) {
  text.line("    #pragma unroll");
  text.line("    for (int e = 0; e < ", shape.elements, "; ++e) {");
}
void each_run(Text& text, const KernelShape& shape) {
  text.line("    #pragma unroll");
  text.line("    for (int q = 0; q < ", shape.elements / shape.run, "; ++q) {");
}

/// A thread's elements by whole runs.
void map_runs(Text& text, const KernelShape& shape, const ProgramText& code,
              const std::vector<unsigned>& dims) {
  const auto run_index = [&] {
    text.line("      const long long i = start + (q * threads + thread) * ", shape.run, ";");
  };
  code.arrays(text, shape.elements);
  each_run(text, shape);
  run_index();
  code.split(text, dims, "i");
  code.load_run(text, dims);
  text.line("    }");
  each_element(text, shape);
  if (code.uses_index()) {
    text.line("      const long long i = start + ((e / ", shape.run, ") * threads + thread) * ",
              shape.run, " + e % ", shape.run, ";");
  }
  code.compute(text);
  text.line("    }");
  each_run(text, shape);
  run_index();
  code.store_run(text);
  text.line("    }");
}

/// A thread's elements side by side, all of them inside.
void map_batch(Text& text, const KernelShape& shape, const ProgramText& code,
               const std::vector<unsigned>& dims) {
  const auto each_index = [&] {
    each_element(text, shape);
    text.line("      const long long i = start + e * threads + thread;");
  };
  code.arrays(text, shape.elements);
  each_index();
  code.split(text, dims, "i");
  code.load_element(text, dims, Bounds::known);
  text.line("    }");
  each_index();
  code.compute(text);
  text.line("    }");
  each_index();
  code.store_element(text);
  text.line("    }");
}

/// A thread's elements one after the other, as far as there are any.
void map_singly(Text& text, const KernelShape& shape, const ProgramText& code,
                const std::vector<unsigned>& dims) {
  text.line("    #pragma unroll 1");
  text.line("    for (int n = 0; n < ", shape.per_thread(), "; ++n) {");
  text.line("      const long long i = start + n * threads + thread;");
  text.line("      if (i >= a.count) break;");
  text.line("      const int e = 0;");
  code.arrays(text, 1);
  code.split(text, dims, "i");
  code.load_element(text, dims, Bounds::known);
  code.compute(text);
  code.store_element(text);
  text.line("    }");
}

/// Full blocks go by whole runs; where addresses forbid that, light programs still keep several
/// loads in flight. Each way has code of its own: shared code needs the registers of both.
void map_kernel(Text& text, const Program& program, const KernelShape& shape) {
  const ProgramText code(program, shape);
  const std::vector<unsigned> dims =
      needs_coordinates(program) ? dimensions(program, false) : std::vector<unsigned>{};
  signature(text, program, shape);
  text.line("  const unsigned thread = threadIdx.x, threads = blockDim.x;");
  text.line("  const long long start = (long long)blockIdx.x * (threads * ", shape.per_thread(),
            ");");
  code.constants(text);
  if (shape.elements > 1) {
    text.line("  const bool whole = start + threads * ", shape.elements, " <= a.count;");
  }
  if (shape.vector) {
    text.line("  if (whole && a.vector) {");
    map_runs(text, shape, code, dims);
    text.line("  } else");
  }
  if (shape.elements > 1 && weight(program) <= kWideWeight) {
    text.line("  if (whole) {");
    map_batch(text, shape, code, dims);
    text.line("  } else");
  }
  text.line("  {");
  map_singly(text, shape, code, dims);
  text.line("  }");
  text.line("}");
}

/// Joins the totals of a row's threads, and those of its blocks (blocks.inl).
constexpr std::string_view kJoin = R"(
  const auto join = [](Sum x, Sum y) { return fb_join(x, y); };
  #pragma unroll 1
  for (bool all = a.splits == 1;; all = true) {
    total = fb_fold(total, fold, member, group, pitch, join);
    if (all) break;
    const unsigned words = sizeof(FbWords<Sum>) / 4 * tiles * columns;
    unsigned long long* const place =
        a.partials + sizeof(FbWords<Sum>) / 4 * (tile * columns + column);
    if (split + 1 < a.splits) {
      if (member == 0) fb_leave(place + split * words, total);
      return;
    }
    if (member == 0) fold[thread] = total;
    __syncthreads();
    const Sum own = fold[thread - member * pitch];
    total = fb_join_blocks(own, nothing, place, words, a.splits, member, a.group_log2, join);
    __syncthreads();
  }
)";

/// The result from `total` to memory and, if it fits, to the mailbox.
void finish_row(Text& text, const compute::ReduceRule& rule) {
  const std::string exact = rule.indexed   ? "total.index"
                            : rule.divides ? "total / (double)a.reduced"
                                           : "total";
  text.line("    const ", type_name(rule.result), " value = ", cast_text(rule.result, exact), ";");
  text.line("    a.result[row] = value;");
  if (size_of(rule.result) > sizeof(std::uint32_t)) return;
  const bool narrow = rule.result == DType::f16 || rule.result == DType::bf16;
  // One store, so that the host sees both words or neither.
  text.line("    if (a.mailbox) {");
  text.line(
      "      *(volatile unsigned long long*)a.mailbox = (unsigned long long)a.ticket << 32 | ",
      rule.result == DType::f32 ? "FB_BITS(value)"
      : narrow                  ? "value.bits"
                                : "(unsigned)value",
      ";");
  text.line("    }");
}

/// Coordinates of the kept dimensions, the linear index at which the row starts and the strided
/// leaves' addresses there.
void row_start(Text& text, const Program& program, const ProgramText& code,
               const std::vector<unsigned>& kept) {
  text.line("  const long long step", program.rank - 1, " = 1;");
  for (int d = program.rank - 2; d >= 0; --d) {
    text.line("  const long long step", d, " = step", d + 1, " * a.extent", d + 1, ";");
  }
  text.line("  long long base = 0;");
  for (std::size_t k = 0; k < program.leaves.size(); ++k) {
    if (program.leaves[k].access != Access::strided) continue;
    text.line("  const ", memory_name(program.leaves[k].type), "* p", k, " = a.leaf", k, ";");
  }
  text.line("  if (here) {");
  code.split(text, kept, "row");
  for (const unsigned d : kept) {
    text.line("      base += c", d, " * step", d, ";");
    for (std::size_t k = 0; k < program.leaves.size(); ++k) {
      if (program.leaves[k].access != Access::strided) continue;
      text.line("      p", k, " += c", d, " * a.stride", k, "_", d, ";");
    }
  }
  text.line("  }");
}

/// What a thread does with its kStepElements elements of a step, up to joining them with `total`.
class RowSteps {
 public:
  RowSteps(const Program& program, const KernelShape& shape, const ProgramText& code,
           const compute::ReduceRule& rule, const std::vector<unsigned>& reduced)
      : program_(program), shape_(shape), code_(code), rule_(rule), reduced_(reduced) {}

  /// All of them are there; whole runs are aligned if the kernel knows any.
  void whole(Text& text) const {
    text.line("    Term t[", kStepElements, "];");
    code_.arrays(text, shape_.elements);
    if (shape_.vector) {
      each_run(text, shape_);
      locate_run(text);
      code_.split(text, reduced_, "r");
      code_.load_run(text, reduced_);
    } else {
      each_element(text, shape_);
      locate(text, true);
      code_.load_element(text, reduced_, Bounds::known);
    }
    text.line("    }");
    each_element(text, shape_);
    if (rule_.indexed || code_.uses_index()) locate(text, code_.uses_index());
    code_.compute(text);
    text.line("      t[", place(), "] = ", term(), ";");
    text.line("    }");
    if (!program_.outputs.empty()) {
      if (shape_.vector) {
        each_run(text, shape_);
        locate_run(text);
        code_.store_run(text);
      } else {
        each_element(text, shape_);
        locate(text, true);
        code_.store_element(text);
      }
      text.line("    }");
    }
    join(text);
  }

  /// As far as there are any, one by one.
  void rest(Text& text) const {
    text.line("    Term t[", kStepElements, "];");
    each_pass(text, shape_);
    code_.arrays(text, shape_.elements);
    each_element(text, shape_);
    locate(text, true);
    text.line("      const bool inside = r < end;");
    code_.load_element(text, reduced_, Bounds::checked);
    text.line("    }");
    each_element(text, shape_);
    locate(text, code_.uses_index());
    code_.compute(text);
    text.line("      t[", place(), "] = r < end ? ", term(), " : ",
              rule_.indexed ? "nothing" : "(Term)nothing", ";");
    text.line("    }");
    if (!program_.outputs.empty()) {
      each_element(text, shape_);
      locate(text, true);
      text.line("      if (r < end) {");
      code_.store_element(text);
      text.line("      }");
      text.line("    }");
    }
    text.line("    }");
    join(text);
  }

 private:
  /// Which of the step's elements it is: element e of the only pass, or the one of pass n.
  [[nodiscard]] const char* place() const { return shape_.passes == 1 ? "e" : "n"; }
  /// Where it is in the row, and in memory.
  void locate(Text& text, bool coordinates) const {
    const std::string run = std::to_string(shape_.run);
    text.line("      const long long r = start + ((", place(), " / ", run, ") * group + member) * ",
              run, " + ", place(), " % ", run, ";");
    if (!coordinates) return;
    code_.split(text, reduced_, "r");
    std::string index = "base";
    for (const unsigned d : reduced_) {
      index += " + c" + std::to_string(d) + " * step" + std::to_string(d);
    }
    text.line("      const long long i = ", index, ";");
  }
  void locate_run(Text& text) const {
    text.line("      const long long r = start + (q * group + member) * ", shape_.run, ";");
    text.line("      const long long i = base + r;");
  }
  [[nodiscard]] std::string term() const {
    const std::string value = code_.value(program_.reduction->value);
    return rule_.indexed ? "Term{" + cast_text(rule_.total, value) + ", r}"
                         : cast_text(rule_.term, value);
  }
  void join(Text& text) const {
    const std::string tree = tree_text(join_text(rule_));
    text.line("    total = fb_join(total, ", rule_.indexed ? tree : cast_text(rule_.total, tree),
              ");");
  }

  const Program& program_;
  const KernelShape& shape_;
  const ProgramText& code_;
  const compute::ReduceRule& rule_;
  const std::vector<unsigned>& reduced_;
};

void reduce_kernel(Text& text, const Program& program, const KernelShape& shape) {
  const ProgramText code(program, shape);
  const std::vector<unsigned> kept = dimensions(program, false);
  const std::vector<unsigned> reduced = dimensions(program, true);
  const compute::ReduceRule rule =
      rule_of(program.reduction->op, program.type_of(program.reduction->value));

  declare_reduction(text, rule, "");
  signature(text, program, shape);
  text.line("  __shared__ Sum fold[", kReduceThreads, "];");
  text.block(R"(  const unsigned thread = threadIdx.x;
  const unsigned group = 1u << a.group_log2, columns = 1u << a.columns_log2;
  const unsigned tiles = a.tiles, split = fb_divide(blockIdx.x, a.tiles_magic, a.tiles_shift);
  const unsigned tile = blockIdx.x - split * tiles;
  const unsigned member = a.inner ? thread & (group - 1) : thread >> a.columns_log2;
  const unsigned column = a.inner ? thread >> a.group_log2 : thread & (columns - 1);
  const unsigned pitch = a.inner ? 1 : columns;
  const long long row = (long long)tile * columns + column;
  const bool here = row < a.kept;
  const long long begin = split * a.chunk;
  const long long end = !here ? begin : begin + a.chunk < a.reduced ? begin + a.chunk : a.reduced;
)");
  code.constants(text);
  row_start(text, program, code, kept);

  const std::string identity = identity_text(rule.identity, rule.total);
  text.line("  const Sum nothing = ",
            rule.indexed ? "{" + identity + ", 0x7fffffffffffffffLL}" : identity, ";");
  text.line("  Sum total = nothing;");
  const RowSteps steps{program, shape, code, rule, reduced};
  text.line("  const unsigned step = group * ", kStepElements, ";");
  text.line("  long long start = begin;");
  // Loops of their own: compilers do not always part them.
  if (shape.elements > 1) {
    if (shape.vector) text.line("  if (a.vector)");
    text.line("  for (; start + step <= end; start += step) {");
    steps.whole(text);
    text.line("  }");
  }
  text.line("  for (; start < end; start += step) {");
  steps.rest(text);
  text.line("  }");

  text.block(kJoin);
  text.line("  if (member == 0 && here) {");
  finish_row(text, rule);
  text.line("  }");
  text.line("}");
}

}  // namespace

const char* kernel_entry(const Program& program) noexcept {
  return program.reduction ? "forebay_reduce" : "forebay_map";
}

std::string with_prelude(std::string_view source) {
  // A kernel uses a few of a part's functions, and unsigned numbers are compared with 0 there;
  // NVRTC would list all of that, which takes time.
  Text text;
  text.line("#pragma nv_diag_suppress 177, 186").block(compute::prelude_for(source)).block(source);
  return std::move(text).str();
}

std::string generate_kernel(const Program& program, std::uint32_t staged) {
  const KernelShape shape = kernel_shape(program, staged);
  Text text;
  text.block(kHelpers);
  const Program* const programs[] = {&program};
  narrow_forms(text, programs);
  if (program.reduction) {
    reduce_kernel(text, program, shape);
  } else if (shape.tiled()) {
    signature(text, program, shape);
    tile_kernel(text, program, shape);
    text.line("}");
  } else {
    map_kernel(text, program, shape);
  }
  return with_prelude(std::move(text).str());
}

}  // namespace forebay::cuda
