#include "compute/cuda/tile_text.hpp"

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
    each_leaf([&](std::size_t k) {
      if (!is_staged(k)) return;
      const DType type = program_.leaves[k].type;
      text_.line("  __shared__ ", memory_name(type), " tile", k, "[", kStagedTile.inner, "][",
                 staged_pitch(type), "];");
    });
    find_tile();
    code_.constants(text_);
    stage();
    text_.line("  const unsigned inner = thread % ", kStagedTile.inner, ";");
    text_.line("  #pragma unroll 1");
    text_.line("  for (int n = 0; n < ", shape_.passes, "; ++n) {");
    text_.line("    const unsigned row = n * ", shape_.elements * kRows, " + thread / ",
               kStagedTile.inner, ";");
    text_.line("    const long long first = index + row * step + inner;");
    each_leaf([&](std::size_t k) {
      if (program_.leaves[k].access != Access::strided || is_staged(k)) return;
      text_.line("    const auto* const q", k, " = p", k, " + row * s", k, " + inner * ", along(k),
                 ";");
    });
    code_.arrays(text_, shape_.elements);
    each_element([&] {
      locate();
      each_leaf([&](std::size_t k) {
        text_.line(is_staged(k) ? "      x" : "      if (inside) x", k, "[e] = ", read(k), ";");
      });
    });
    each_element([&] {
      if (code_.uses_index()) locate();
      code_.compute(text_);
    });
    each_element([&] {
      locate();
      text_.line("      if (inside) {");
      code_.store_element(text_);
      text_.line("      }");
    });
    text_.line("  }");
  }

 private:
  /// Rows that a block has at once, along the outputs.
  static constexpr unsigned kRows = kStagedThreads / kStagedTile.inner;

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

  /// How much of the tile is inside; where its first element is in the outputs, and in strided
  /// leaves; what is from there to the next one across.
  void find_tile() {
    text_.block(R"(  const unsigned thread = threadIdx.x;
  const unsigned inner_tile = blockIdx.x % a.inner_tiles, rest = blockIdx.x / a.inner_tiles;
  const unsigned across_tile = rest % a.across_tiles, other = rest / a.across_tiles;
)");
    const auto first = [&](const char* of, unsigned extent) {
      text_.line("  const long long first_", of, " = (long long)", of, "_tile * ", extent, ";");
      text_.line("  const long long ", of, "_left = a.", of, "_extent - first_", of, ";");
      text_.line("  const unsigned ", of, "_end = ", of, "_left < ", extent, " ? ", of,
                 "_left : ", extent, ";");
    };
    first("inner", kStagedTile.inner);
    first("across", kStagedTile.across);
    text_.line("  const bool whole = inner_end == ", kStagedTile.inner,
               " && across_end == ", kStagedTile.across, ";");
    across("step", "", "a.step");
    text_.line("  long long index = first_across * step + first_inner;");
    each_leaf([&](std::size_t k) {
      if (program_.leaves[k].access != Access::strided) return;
      const std::string leaf = std::to_string(k);
      across("s", leaf, "a.stride" + leaf + "_");
      text_.line("  const ", memory_name(program_.leaves[k].type), "* p", k, " = a.leaf", k,
                 " + first_across * s", k, " + first_inner * ", along(k), ";");
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

  /// Threads side by side along a leaf.
  void stage() {
    constexpr unsigned kColumns = kStagedThreads / kStagedTile.across;
    text_.line("  {");
    text_.line("  const unsigned across = thread % ", kStagedTile.across, ", column = thread / ",
               kStagedTile.across, ";");
    each_leaf([&](std::size_t k) {
      if (!is_staged(k)) return;
      text_.line("  const auto* const q", k, " = p", k, " + across * s", k, " + column * ",
                 along(k), ";");
    });
    // Without a question in between, all of a thread's loads are in flight together.
    for (const bool whole : {true, false}) {
      text_.line(whole ? "  if (whole) {" : "  } else {");
      text_.line("  #pragma unroll");
      text_.line("  for (int m = 0; m < ", kStagedTile.inner / kColumns, "; ++m) {");
      if (!whole) {
        text_.line("      if (across >= across_end || column + m * ", kColumns,
                   " >= inner_end) continue;");
      }
      each_leaf([&](std::size_t k) {
        if (!is_staged(k)) return;
        text_.line("      tile", k, "[column + m * ", kColumns, "][across] = q", k, "[m * ",
                   kColumns, " * ", along(k), "];");
      });
      text_.line("  }");
    }
    text_.line("  }");
    text_.line("  }");
    text_.line("  __syncthreads();");
  }

  template <typename Write>
  void each_element(Write write) {
    text_.line("    #pragma unroll");
    text_.line("    for (int e = 0; e < ", shape_.elements, "; ++e) {");
    write();
    text_.line("    }");
  }

  /// Element e of a pass: threads side by side along the outputs.
  void locate() {
    text_.line("      const bool inside = whole || (inner < inner_end && row + e * ", kRows,
               " < across_end);");
    text_.line("      const long long i = first + e * ", kRows, " * step;");
  }
  [[nodiscard]] std::string read(std::size_t k) const {
    const std::string leaf = std::to_string(k);
    const std::string rows = std::to_string(kRows);
    if (is_staged(k)) return "tile" + leaf + "[inner][row + e * " + rows + "]";
    if (program_.leaves[k].access == Access::linear) return "a.leaf" + leaf + "[i]";
    return "q" + leaf + "[e * " + rows + " * s" + leaf + "]";
  }

  Text& text_;
  const Program& program_;
  const KernelShape& shape_;
  const ProgramText code_;
  std::vector<unsigned> dims_;
};

}  // namespace

void tile_kernel(Text& text, const Program& program, const KernelShape& shape) {
  TileText(text, program, shape).write();
}

}  // namespace forebay::cuda
