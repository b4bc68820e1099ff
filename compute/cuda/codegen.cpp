#include "compute/cuda/codegen.hpp"

#include <algorithm>
#include <vector>

#include "compute/cuda/kernel_arguments.hpp"
#include "compute/cuda/program_text.hpp"
#include "compute/cuda/reduce_text.hpp"
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
  text.block(declare_arguments(program));
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

/// The statements from loaded elements to the elements of the outputs.
void compute_elements(Text& text, const Program& program, const ProgramText& code) {
  code.values(text);
  for (std::size_t k = 0; k < program.outputs.size(); ++k) {
    text.line("      y", k, "[e] = ", code.value(program.outputs[k].value), ";");
  }
}

/// A thread's elements by whole runs.
void map_runs(Text& text, const Program& program, const KernelShape& shape, const ProgramText& code,
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
  compute_elements(text, program, code);
  text.line("    }");
  each_run(text, shape);
  run_index();
  code.store_run(text);
  text.line("    }");
}

/// A thread's elements side by side, all of them inside.
void map_batch(Text& text, const Program& program, const KernelShape& shape,
               const ProgramText& code, const std::vector<unsigned>& dims) {
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
  compute_elements(text, program, code);
  text.line("    }");
  each_index();
  code.store_element(text);
  text.line("    }");
}

/// A thread's elements one after the other, as far as there are any.
void map_singly(Text& text, const Program& program, const KernelShape& shape,
                const ProgramText& code, const std::vector<unsigned>& dims) {
  text.line("    #pragma unroll 1");
  text.line("    for (int n = 0; n < ", shape.per_thread(), "; ++n) {");
  text.line("      const long long i = start + n * threads + thread;");
  text.line("      if (i >= a.count) break;");
  text.line("      const int e = 0;");
  code.arrays(text, 1);
  code.split(text, dims, "i");
  code.load_element(text, dims, Bounds::known);
  compute_elements(text, program, code);
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
    map_runs(text, program, shape, code, dims);
    text.line("  } else");
  }
  if (shape.elements > 1 && weight(program) <= kWideWeight) {
    text.line("  if (whole) {");
    map_batch(text, program, shape, code, dims);
    text.line("  } else");
  }
  text.line("  {");
  map_singly(text, program, shape, code, dims);
  text.line("  }");
  text.line("}");
}

/// Joins the totals of a row's threads in a fixed tree; afterwards `total` of member 0 is the
/// row's.
constexpr std::string_view kFoldThreads = R"(  fold[thread] = total;
  for (unsigned half = group >> 1; half > 0; half >>= 1) {
    __syncthreads();
    if (member < half) {
      total = fb_join(total, fold[thread + half * pitch]);
      fold[thread] = total;
    }
  }
)";

/// The last block of a tile to arrive joins what the others left. The ticket goes back to 0 by
/// itself.
constexpr std::string_view kFoldBlocks = R"(  if (a.splits > 1) {
    const unsigned slot = tile * columns + column;
    if (member == 0) a.partials[split * tiles * columns + slot] = total;
    __threadfence();
    __syncthreads();
    if (thread == 0) last = atomicInc(a.tickets + tile, a.splits - 1) == a.splits - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    total = nothing;
    #pragma unroll 4
    for (unsigned other = member; other < a.splits; other += group) {
      total = fb_join(total, fb_left(a.partials + other * tiles * columns + slot));
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

void reduce_kernel(Text& text, const Program& program, const KernelShape& shape) {
  const ProgramText code(program, shape);
  const std::vector<unsigned> kept = dimensions(program, false);
  const std::vector<unsigned> reduced = dimensions(program, true);
  const compute::ReduceRule rule =
      rule_of(program.reduction->op, program.type_of(program.reduction->value));
  const std::string join = join_text(rule);

  declare_reduction(text, rule, "");
  signature(text, program, shape);
  text.line("  __shared__ Sum fold[", kReduceThreads, "];");
  text.block(R"(  __shared__ bool last;
  const unsigned thread = threadIdx.x;
  const unsigned group = 1u << a.group_log2, columns = 1u << a.columns_log2;
  const unsigned tiles = gridDim.x / a.splits;
  const unsigned tile = blockIdx.x % tiles, split = blockIdx.x / tiles;
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
  text.line("  for (long long start = begin; start < end; start += group * ", kStepElements, ") {");
  text.line("    Term t[", kStepElements, "];");
  each_pass(text, shape);
  code.arrays(text, shape.elements);

  // The place of element e of batch n in the row, and in memory.
  const std::string place = shape.passes == 1 ? "e" : "n";
  const std::string run = std::to_string(shape.run);
  const std::string r = "start + ((" + place + " / " + run + ") * group + member) * " + run +
                        " + " + place + " % " + run;
  const auto locate = [&](bool coordinates) {
    text.line("      const long long r = ", r, ";");
    if (!coordinates) return;
    code.split(text, reduced, "r");
    std::string index = "base";
    for (const unsigned d : reduced) {
      index += " + c" + std::to_string(d) + " * step" + std::to_string(d);
    }
    text.line("      const long long i = ", index, ";");
  };

  text.line("    const bool whole = ", shape.vector ? "a.vector && " : "", "start + group * ",
            kStepElements, " <= end;");
  text.line("    if (whole) {");
  if (shape.vector) {
    each_run(text, shape);
    text.line("      const long long r = start + (q * group + member) * ", shape.run, ";");
    text.line("      const long long i = base + r;");
    code.split(text, reduced, "r");
    code.load_run(text, reduced);
  } else {
    each_element(text, shape);
    locate(true);
    code.load_element(text, reduced, Bounds::known);
  }
  text.line("    }");
  text.line("    } else {");
  each_element(text, shape);
  locate(true);
  text.line("      const bool inside = r < end;");
  code.load_element(text, reduced, Bounds::checked);
  text.line("    }");
  text.line("    }");

  each_element(text, shape);
  locate(code.uses_index());
  compute_elements(text, program, code);
  const std::string value = code.value(program.reduction->value);
  text.line(
      "      t[", place, "] = r < end ? ",
      rule.indexed ? "Term{" + cast_text(rule.total, value) + ", r}" : cast_text(rule.term, value),
      " : ", rule.indexed ? "nothing" : "(Term)nothing", ";");
  text.line("    }");

  if (!program.outputs.empty()) {
    if (shape.vector) {
      text.line("    if (whole) {");
      each_run(text, shape);
      text.line("      const long long i = base + start + (q * group + member) * ", shape.run, ";");
      code.store_run(text);
      text.line("    }");
      text.line("    } else {");
    } else {
      text.line("    {");
    }
    each_element(text, shape);
    locate(true);
    text.line("      if (r < end) {");
    code.store_element(text);
    text.line("      }");
    text.line("    }");
    text.line("    }");
  }
  text.line("    }");
  text.line("    total = fb_join(total, ",
            rule.indexed ? tree_text(join) : cast_text(rule.total, tree_text(join)), ");");
  text.line("  }");

  text.block(kFoldThreads);
  text.block(kFoldBlocks);
  text.block(kFoldThreads);
  text.line("  }");
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

std::string generate_kernel(const Program& program) {
  const KernelShape shape = kernel_shape(program);
  Text text;
  text.block(kHelpers);
  const Program* const programs[] = {&program};
  narrow_forms(text, programs);
  if (program.reduction) {
    reduce_kernel(text, program, shape);
  } else {
    map_kernel(text, program, shape);
  }
  return with_prelude(std::move(text).str());
}

}  // namespace forebay::cuda
