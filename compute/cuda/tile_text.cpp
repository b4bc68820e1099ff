#include "compute/cuda/tile_text.hpp"

#include <string>
#include <vector>

#include "compute/cuda/tile_plan.hpp"

namespace forebay::cuda {
namespace {

using compute::Program;

class TileText {
 public:
  TileText(Text& text, const Program& program, const KernelShape& shape)
      : text_(text), program_(program), shape_(shape), code_(program, shape) {
    for (unsigned d = 0; d < program.rank; ++d) dims_.push_back(d);
  }

  void write() {
    for (std::size_t k = 0; k < program_.leaves.size(); ++k) {
      if (!is_staged(k)) continue;
      text_.line("  __shared__ ", memory_name(program_.leaves[k].type), " tile", k, "[",
                 kStagedTile.inner, "][", kStagedTile.across + 1, "];");
    }
    find_tile();
    code_.constants(text_);
    stage();
    text_.line("  #pragma unroll 1");
    text_.line("  for (int n = 0; n < ", shape_.passes, "; ++n) {");
    code_.arrays(text_, shape_.elements);
    each_element([&] {
      coordinates();
      code_.load_element(text_, dims_, Bounds::checked);
    });
    each_element([&] {
      if (code_.uses_index()) coordinates();
      code_.compute(text_);
    });
    each_element([&] {
      coordinates();
      text_.line("      if (inside) {");
      code_.store_element(text_);
      text_.line("      }");
    });
    text_.line("  }");
  }

 private:
  [[nodiscard]] bool is_staged(std::size_t leaf) const { return (shape_.staged >> leaf & 1) != 0; }

  /// The coordinates bD of the tile's first element, and whether all of it is inside.
  void find_tile() {
    text_.block(R"(  const unsigned thread = threadIdx.x;
  const unsigned inner_tile = blockIdx.x % a.inner_tiles, rest = blockIdx.x / a.inner_tiles;
  const unsigned across_tile = rest % a.across_tiles, other = rest / a.across_tiles;
)");
    text_.line("  const long long first_inner = (long long)inner_tile * ", kStagedTile.inner, ";");
    text_.line("  const long long first_across = (long long)across_tile * ", kStagedTile.across,
               ";");
    text_.line("  const long long inner_left = a.inner_extent - first_inner;");
    text_.line("  const long long across_left = a.across_extent - first_across;");
    text_.line("  const bool whole = inner_left >= ", kStagedTile.inner,
               " && across_left >= ", kStagedTile.across, ";");
    for (const unsigned d : dims_) text_.line("  long long b", d, ";");
    text_.line("  {");
    code_.split(text_, dims_, "other");
    for (const unsigned d : dims_) {
      const bool last = d + 1 == program_.rank;
      text_.line(
          "    b", d, " = c", d, " + ",
          last ? "first_inner" : "(a.across_dim == " + std::to_string(d) + " ? first_across : 0)",
          ";");
    }
    text_.line("  }");
  }

  /// What is at (inner, across) in the tile: `inside`, cD and i.
  void locate() {
    text_.line("      const bool inside = whole || (inner < inner_left && across < across_left);");
    std::string index;
    for (const unsigned d : dims_) {
      const std::string dim = std::to_string(d);
      const bool last = d + 1 == program_.rank;
      text_.line("      const long long c", dim, " = b", dim, " + ",
                 last ? "inner" : "(a.across_dim == " + dim + " ? across : 0)", ";");
      index += (d == 0 ? "c" : " + c") + dim + " * a.step" + dim;
    }
    text_.line("      const long long i = ", index, ";");
  }

  /// Threads side by side along a leaf. All of a thread's elements are asked for before any is
  /// kept.
  void stage() {
    constexpr unsigned kRows = kStagedThreads / kStagedTile.across;
    constexpr unsigned kEach = kStagedTile.inner / kRows;
    const auto each = [&] {
      text_.line("  #pragma unroll");
      text_.line("  for (int m = 0; m < ", kEach, "; ++m) {");
      text_.line("      const unsigned inner = m * ", kRows, " + thread / ", kStagedTile.across,
                 ", across = thread % ", kStagedTile.across, ";");
    };
    const auto each_leaf = [&](auto write) {
      for (std::size_t k = 0; k < program_.leaves.size(); ++k) {
        if (is_staged(k)) write(k);
      }
    };
    text_.line("  {");
    each_leaf([&](std::size_t k) {
      text_.line("  ", memory_name(program_.leaves[k].type), " s", k, "[", kEach, "];");
    });
    each();
    locate();
    each_leaf([&](std::size_t k) {
      text_.line("      if (inside) s", k, "[m] = ", code_.element(k, dims_), ";");
    });
    text_.line("  }");
    each();
    each_leaf(
        [&](std::size_t k) { text_.line("      tile", k, "[inner][across] = s", k, "[m];"); });
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

  /// Threads side by side along the outputs.
  void coordinates() {
    text_.line("      const unsigned inner = thread % ", kStagedTile.inner, ", across = (n * ",
               shape_.elements, " + e) * ", kStagedThreads / kStagedTile.inner, " + thread / ",
               kStagedTile.inner, ";");
    locate();
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
