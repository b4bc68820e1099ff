#include "compute/cuda/codegen.hpp"

#include <algorithm>
#include <vector>

#include "compute/cuda/kernel_arguments.hpp"
#include "compute/cuda/program_text.hpp"
#include "compute/prelude_text.hpp"

namespace forebay::cuda {

using compute::Access;
using compute::Program;

namespace {

/// Instructions of one element up to which a thread's elements are written out side by side.
constexpr unsigned kWideWeight = 40;
constexpr unsigned kBatchWeight = 200;

constexpr std::string_view kHelpers = R"(
struct alignas(16) FbQuad {
  unsigned w[4];
};
FB_FN unsigned fb_divide(unsigned n, unsigned magic, unsigned shift) {
  return (__umulhi(n, magic) + n) >> shift;
}
)";

std::vector<unsigned> dimensions(const Program& program, bool reduced) {
  std::vector<unsigned> dims;
  for (unsigned d = 0; d < program.rank; ++d) {
    if ((program.reduced_dims >> d & 1) == reduced) dims.push_back(d);
  }
  return dims;
}

void signature(Text& text, const Program& program) {
  text.block(declare_arguments(program));
  text.line("extern \"C\" __global__ void __launch_bounds__(", kMapThreads, ") ",
            kernel_entry(program), "(const __grid_constant__ Args a) {");
}

/// The heads of the loops over a thread's batches, the elements of a batch, and its runs of four.
void each_pass(Text& text, const KernelShape& shape) {
  text.line("    #pragma unroll 1");
  text.line("    for (int n = 0; n < ", shape.passes, "; ++n) {");
}
void each_element(Text& text, const KernelShape& shape) {
  text.line("    #pragma unroll");
  text.line("    for (int e = 0; e < ", shape.elements, "; ++e) {");
}
void each_quad(Text& text, const KernelShape& shape) {
  text.line("    #pragma unroll");
  text.line("    for (int q = 0; q < ", shape.elements / 4, "; ++q) {");
}

void map_kernel(Text& text, const Program& program, const KernelShape& shape) {
  const ProgramText code(program, shape);
  const std::vector<unsigned> dims =
      needs_coordinates(program) ? dimensions(program, false) : std::vector<unsigned>{};
  signature(text, program);
  text.line("  const unsigned thread = threadIdx.x, threads = blockDim.x;");
  text.line("  const long long first = (long long)blockIdx.x * (threads * ", shape.per_thread(),
            ");");
  code.constants(text);
  each_pass(text, shape);
  text.line("    const long long start = first + n * (threads * ", shape.elements, ");");
  code.arrays(text);
  if (shape.vector) {
    text.line("    const bool whole = a.vector && start + threads * ", shape.elements,
              " <= a.count;");
    text.line("    if (whole) {");
    each_quad(text, shape);
    text.line("      const long long i = start + (q * threads + thread) * 4;");
    code.load_quad(text);
    text.line("    }");
    text.line("    } else {");
  } else {
    text.line("    {");
  }
  each_element(text, shape);
  text.line("      const long long i = start + e * threads + thread;");
  text.line("      const bool inside = i < a.count;");
  code.split(text, dims, "i");
  code.load_element(text, dims);
  text.line("    }");
  text.line("    }");
  each_element(text, shape);
  if (code.uses_index()) {
    text.line("      const long long i = ",
              shape.vector ? "whole ? start + ((e / 4) * threads + thread) * 4 + e % 4 : " : "",
              "start + e * threads + thread;");
  }
  code.values(text);
  for (std::size_t k = 0; k < program.outputs.size(); ++k) {
    text.line("      y", k, "[e] = ", code.value(program.outputs[k].value), ";");
  }
  text.line("    }");
  if (shape.vector) {
    text.line("    if (whole) {");
    each_quad(text, shape);
    text.line("      const long long i = start + (q * threads + thread) * 4;");
    code.store_quad(text);
    text.line("    }");
    text.line("    } else {");
  } else {
    text.line("    {");
  }
  each_element(text, shape);
  text.line("      const long long i = start + e * threads + thread;");
  text.line("      const bool inside = i < a.count;");
  code.store_element(text);
  text.line("    }");
  text.line("    }");
  text.line("  }");
  text.line("}");
}

/// Adds the sums of a row's threads in a fixed tree; afterwards `total` of member 0 is the row's.
constexpr std::string_view kFoldThreads = R"(  fold[thread] = total;
  for (unsigned half = group >> 1; half > 0; half >>= 1) {
    __syncthreads();
    if (member < half) {
      total = total + fold[thread + half * pitch];
      fold[thread] = total;
    }
  }
)";

/// The last block of a tile to arrive adds what the others left. The ticket goes back to 0 by
/// itself.
constexpr std::string_view kFoldBlocks = R"(  if (a.splits > 1) {
    const unsigned tiles = gridDim.x / a.splits;
    const unsigned slot = tile * columns + column;
    if (member == 0) a.partials[split * tiles * columns + slot] = total;
    __threadfence();
    __syncthreads();
    if (thread == 0) last = atomicInc(a.tickets + tile, a.splits - 1) == a.splits - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    total = 0;
    #pragma unroll 4
    for (unsigned other = member; other < a.splits; other += group) {
      total = total + ((const volatile Sum*)a.partials)[other * tiles * columns + slot];
    }
)";

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
    text.line("  const ", type_name(program.leaves[k].type), "* p", k, " = a.leaf", k, ";");
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
  const DType type = program.type_of(program.reduction->value);
  const std::string_view term = type == DType::f32 ? "float" : "unsigned";

  text.line("typedef ", sum_type(type), " Sum;");
  signature(text, program);
  text.block(R"(  __shared__ Sum fold[256];
  __shared__ bool last;
  const unsigned thread = threadIdx.x;
  const unsigned group = 1u << a.group_log2, columns = 1u << a.columns_log2;
  const unsigned tile = blockIdx.x / a.splits, split = blockIdx.x % a.splits;
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

  text.line("  Sum total = 0;");
  text.line("  for (long long start = begin; start < end; start += group * ", kStepElements, ") {");
  text.line("    ", term, " t[", kStepElements, "];");
  each_pass(text, shape);
  code.arrays(text);

  // The place of element e of batch n in the row, and in memory.
  const std::string place = shape.passes == 1 ? "e" : "n";
  const std::string r = "start + ((" + place + " / 4) * group + member) * 4 + " + place + " % 4";
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

  if (shape.vector) {
    text.line("    const bool whole = a.vector && start + group * ", kStepElements, " <= end;");
    text.line("    if (whole) {");
    each_quad(text, shape);
    text.line("      const long long i = base + start + (q * group + member) * 4;");
    code.load_quad(text);
    text.line("    }");
    text.line("    } else {");
  } else {
    text.line("    {");
  }
  each_element(text, shape);
  locate(true);
  text.line("      const bool inside = r < end;");
  code.load_element(text, reduced);
  text.line("    }");
  text.line("    }");

  each_element(text, shape);
  locate(code.uses_index());
  code.values(text);
  for (std::size_t k = 0; k < program.outputs.size(); ++k) {
    text.line("      y", k, "[e] = ", code.value(program.outputs[k].value), ";");
  }
  text.line("      t[", place, "] = r < end ? (", term, ")", code.value(program.reduction->value),
            " : 0;");
  text.line("    }");

  if (!program.outputs.empty()) {
    if (shape.vector) {
      text.line("    if (whole) {");
      each_quad(text, shape);
      text.line("      const long long i = base + start + (q * group + member) * 4;");
      code.store_quad(text);
      text.line("    }");
      text.line("    } else {");
    } else {
      text.line("    {");
    }
    each_element(text, shape);
    locate(true);
    text.line("      const bool inside = r < end;");
    code.store_element(text);
    text.line("    }");
    text.line("    }");
  }
  text.line("    }");
  text.line(
      "    total = total + (((t[0] + t[1]) + (t[2] + t[3])) + ((t[4] + t[5]) + (t[6] + t[7])));");
  text.line("  }");

  text.block(kFoldThreads);
  text.block(kFoldBlocks);
  text.block(kFoldThreads);
  text.line("  }");
  const std::string_view mean =
      program.reduction->op == compute::ReduceOp::mean ? "total / (Sum)a.reduced" : "total";
  text.line("  if (member == 0 && here) {");
  text.line("    const ", type_name(type), " value = (", type_name(type), ")(", mean, ");");
  text.line("    a.result[row] = value;");
  // One store, so that the host sees both words or neither.
  text.line("    if (a.mailbox) {");
  text.line(
      "      *(volatile unsigned long long*)a.mailbox = (unsigned long long)a.ticket << 32 | ",
      type == DType::f32 ? "FB_BITS(value)" : "(unsigned)value", ";");
  text.line("    }");
  text.line("  }");
  text.line("}");
}

}  // namespace

KernelShape kernel_shape(const Program& program) {
  unsigned linear = 0;
  bool strided = false;
  for (const compute::Leaf& leaf : program.leaves) {
    linear += leaf.access == Access::linear;
    strided = strided || leaf.access == Access::strided;
  }
  const unsigned work = weight(program);
  KernelShape shape;
  if (program.reduction) {
    // Vectors run along a row: the last dimension must be the reduced one, and the only one.
    const bool along =
        program.reduced_dims != 0 && program.reduced_dims == 1U << (program.rank - 1);
    shape.elements = work <= kBatchWeight / 2 ? kStepElements : 1;
    shape.passes = kStepElements / shape.elements;
    shape.vector = shape.passes == 1 && !strided && along;
    return shape;
  }
  shape.elements = work > kBatchWeight ? 1 : !strided && linear <= 2 && work <= kWideWeight ? 8 : 4;
  shape.passes = shape.elements == 1 ? 4 : 1;
  shape.vector = shape.passes == 1 && !strided;
  return shape;
}

const char* kernel_entry(const Program& program) noexcept {
  return program.reduction ? "forebay_reduce" : "forebay_map";
}

std::string with_prelude(std::string_view source) {
  // A kernel uses a few of the prelude's functions; NVRTC would list the others, which takes time.
  Text text;
  text.line("#pragma nv_diag_suppress 177").block(compute::prelude_text()).block(source);
  return std::move(text).str();
}

std::string generate_kernel(const Program& program) {
  const KernelShape shape = kernel_shape(program);
  Text text;
  text.block(kHelpers);
  if (program.reduction) {
    reduce_kernel(text, program, shape);
  } else {
    map_kernel(text, program, shape);
  }
  return with_prelude(std::move(text).str());
}

}  // namespace forebay::cuda
