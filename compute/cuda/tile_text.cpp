#include "compute/cuda/tile_text.hpp"

#include <bit>
#include <string>
#include <vector>

#include "compute/cuda/tile_plan.hpp"

namespace forebay::cuda {
namespace {

using compute::Access;
using compute::Program;

class TileText {
 public:
  TileText(Text& text, const Program& program, const KernelShape& shape)
      : text_(text), program_(program), shape_(shape), code_(program, shape) {
    for (unsigned d = 0; d < program.rank; ++d) dims_.push_back(d);
  }

  void write() {
    find_tile();
    code_.constants(text_);
    stage();
    // Where nothing is aligned, neighbouring threads have neighbouring elements.
    text_.line("  if (a.vector) {");
    walk(shape_.run);
    text_.line("  } else {");
    walk(1);
    text_.line("  }");
  }

 private:
  /// Patches of `run` elements side by side, as whole runs if that is the shape's.
  void walk(unsigned run) {
    run_ = run;
    elements_ = by_rows() ? run : kOfPatch;
    text_.line("  FbPatches<", run, "> at(a.wide_log2, a.across_log2, index, step, inner_left, ",
               "across_left);");
    text_.line("  #pragma unroll 1");
    text_.line("  for (; at.any(); at.advance(a.wide_log2)) {");
    if (in_runs()) text_.line("    const bool whole = at.whole();");
    if (by_rows()) {
      text_.line("    #pragma unroll 1");
      text_.line("    for (unsigned row = 0; row < at.acrosses; ++row) {");
    } else {
      text_.line("    const unsigned row = 0;");
    }
    code_.arrays(text_, elements_);
    each_row([&] {
      each_leaf([&](std::size_t k) {
        if (!is_staged(k)) read(k);
      });
    });
    each_leaf([&](std::size_t k) {
      if (is_staged(k)) unstage(k);
    });
    text_.line("    #pragma unroll");
    text_.line("    for (int e = 0; e < ", elements_, "; ++e) {");
    if (code_.uses_index()) text_.line("      const long long i = at.index(", run, " * row + e);");
    code_.compute(text_);
    text_.line("    }");
    each_row([&] { store(); });
    if (by_rows()) text_.line("    }");
    text_.line("  }");
  }

  [[nodiscard]] bool in_runs() const { return run_ > 1; }
  /// Long code takes the rows of a patch one after the other.
  [[nodiscard]] bool by_rows() const { return shape_.passes > 1; }
  [[nodiscard]] bool is_staged(std::size_t leaf) const { return (shape_.staged >> leaf & 1) != 0; }
  /// The stride of a leaf along the innermost dimension.
  [[nodiscard]] std::string along(std::size_t k) const {
    return "a.stride" + std::to_string(k) + "_" + std::to_string(program_.rank - 1);
  }
  template <typename Write>
  void each_leaf(Write write) const {
    for (std::size_t k = 0; k < program_.leaves.size(); ++k) {
      if (program_.leaves[k].access != Access::single) write(k);
    }
  }

  /// What `of` is in the dimension across: one of `name`0, `name`1, …
  void across(const char* of, const std::string& suffix, const std::string& name) {
    std::string chosen = name + "0";
    for (unsigned d = 1; d + 1 < program_.rank; ++d) {
      const std::string dim = std::to_string(d);
      chosen = "a.across_dim == " + dim + " ? " + name + dim + " : " + chosen;
    }
    text_.line("  const long long ", of, suffix, " = ", chosen, ";");
  }

  /// Where the tile's first element is in the outputs, and in strided leaves; what is from there to
  /// the next one across; and how much of the space is there.
  void find_tile() {
    text_.block(R"(  const unsigned rest = blockIdx.x / a.inner_tiles;
  const unsigned other = rest / a.across_tiles;
  const long long inner = (long long)(blockIdx.x - rest * a.inner_tiles) << (a.wide_log2 + a.patch_log2);
  const long long across = (long long)(rest - other * a.across_tiles) << a.across_log2;
  const long long inner_left = a.inner_extent - inner, across_left = a.across_extent - across;
)");
    across("step", "", "a.step");
    text_.line("  long long index = across * step + inner;");
    each_leaf([&](std::size_t k) {
      if (program_.leaves[k].access != Access::strided) return;
      const std::string leaf = std::to_string(k);
      across("s", leaf, "a.stride" + leaf + "_");
      text_.line("  const ", memory_name(program_.leaves[k].type), "* p", k, " = a.leaf", k,
                 " + across * s", k, " + inner * ", along(k), ";");
    });
    text_.line("  {");
    code_.split(text_, dims_, "other");
    for (unsigned d = 0; d + 1 < program_.rank; ++d) {
      text_.line("    index += c", d, " * a.step", d, ";");
      each_leaf([&](std::size_t k) {
        if (program_.leaves[k].access != Access::strided) return;
        text_.line("    p", k, " += c", d, " * a.stride", k, "_", d, ";");
      });
    }
    text_.line("  }");
  }

  void stage() {
    const std::size_t of_pass = std::size_t{kTiledThreads} * kOfPatch;
    const std::size_t elements = of_pass * passes_of(program_, shape_.staged);
    std::size_t bytes = 0;
    each_leaf([&](std::size_t k) {
      if (is_staged(k)) bytes += elements * size_of(program_.leaves[k].type);
    });
    text_.block(
        R"(  const unsigned rows = 1U << (a.wide_log2 + a.patch_log2), columns = 1U << a.across_log2;
  const unsigned rows_inside = inner_left < rows ? inner_left : rows;
  const unsigned inside = across_left < columns ? across_left : columns;
)");
    text_.line("  __shared__ FbQuad memory[", bytes / 16, "];");
    std::size_t first = 0;
    each_leaf([&](std::size_t k) {
      if (!is_staged(k)) return;
      const DType type = program_.leaves[k].type;
      const unsigned size = static_cast<unsigned>(size_of(type));
      text_.line("  const FbStage stage", k, "{(unsigned char*)(memory + ", first / 16, "), ",
                 std::countr_zero(size), ", a.across_log2, a.patch_log2};");
      text_.line("  fb_stage(stage", k, ", {(const unsigned char*)p", k, ", ", along(k), " * ",
                 size, ", s", k, " * ", size, ", a.copy_log2}, rows, rows_inside, inside);");
      first += elements * size;
    });
    text_.line("  fb_wait();");
    text_.line("  __syncthreads();");
  }

  /// Row q of those that are taken at once: where it begins, and what is done there.
  template <typename Write>
  void each_row(Write write) {
    text_.line("    #pragma unroll");
    text_.line("    for (int q = 0; q < ", elements_ / run_, "; ++q) {");
    text_.line("      const long long i = at.index(", run_, " * (row + q));");
    write();
    text_.line("    }");
  }
  /// The elements of a row one by one, as far as they are inside.
  template <typename... Parts>
  void each_inside(const Parts&... statement) {
    text_.line("      #pragma unroll");
    text_.line("      for (int n = 0; n < ", run_, "; ++n) {");
    text_.line("        if (at.inside(", run_, " * (row + q) + n)) ", statement..., ";");
    text_.line("      }");
  }

  void read(std::size_t k) {
    const std::string leaf = std::to_string(k);
    const bool strided = program_.leaves[k].access == Access::strided;
    text_.line("      const auto* const r", k, " = ",
               strided ? "p" + leaf + " + (at.column + row + q) * s" + leaf + " + at.patch * " +
                             std::to_string(run_) + " * " + along(k)
                       : "a.leaf" + leaf + " + i",
               ";");
    if (in_runs()) {
      text_.line("      if (whole", strided ? " && a.packed >> " + leaf + " & 1" : "", ") {");
      load_packs(text_, shape_, program_.leaves[k].type, "w" + leaf + "_", "r" + leaf, "x" + leaf);
      text_.line("      } else");
    }
    text_.line("      {");
    each_inside("x", k, "[", run_, " * q + n] = r", k, "[n", strided ? " * " + along(k) : "", "]");
    text_.line("      }");
  }
  void unstage(std::size_t k) {
    if (!by_rows()) {
      text_.line("    fb_patch(stage", k, ", at, x", k, ");");
      return;
    }
    text_.line("    #pragma unroll");
    text_.line("    for (int n = 0; n < ", run_, "; ++n) x", k, "[n] = *(const ",
               memory_name(program_.leaves[k].type), "*)stage", k,
               ".at(at.patch, n, at.column + row);");
  }
  void store() {
    if (in_runs()) {
      text_.line("      if (whole) {");
      for (std::size_t k = 0; k < program_.outputs.size(); ++k) {
        const std::string output = std::to_string(k);
        store_packs(text_, shape_, program_.type_of(program_.outputs[k].value), "w" + output + "_",
                    "y" + output, "a.out" + output + " + i");
      }
      text_.line("      } else");
    }
    text_.line("      {");
    for (std::size_t k = 0; k < program_.outputs.size(); ++k) {
      each_inside("a.out", k, "[i + n] = y", k, "[", run_, " * q + n]");
    }
    text_.line("      }");
  }

  Text& text_;
  const Program& program_;
  const KernelShape& shape_;
  const ProgramText code_;
  std::vector<unsigned> dims_;
  unsigned run_ = 1;       // of the walk that is written
  unsigned elements_ = 1;  // that a thread has at once in it
};

}  // namespace

void tile_kernel(Text& text, const Program& program, const KernelShape& shape) {
  TileText(text, program, shape).write();
}

}  // namespace forebay::cuda
