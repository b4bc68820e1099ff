#include "compute/cuda/map_walk.hpp"

#include <string>

#include "compute/cuda/bytecode.hpp"

namespace forebay::cuda {
namespace {

using compute::Program;

// As numbers that a text takes.
constexpr unsigned kWarp = kFbWarp;
constexpr unsigned kPiece = kFbTilePiece, kRows = kFbTileRows, kStep = kFbTileStep;
constexpr unsigned kInner = kFbTileInner, kAcross = kFbTileAcross;

class LinearWalk final : public MapWalk {
 public:
  LinearWalk(const KernelShape& shape, const ProgramText& code, const std::vector<unsigned>& dims)
      : shape_(shape), code_(code), dims_(dims) {}

  void begin(Text& text) const override {
    text.line("  const long long start = (long long)blockIdx.x * (threads * ", shape_.per_thread(),
              ");");
    if (shape_.elements > 1) {
      text.line("  const bool whole = start + threads * ", shape_.elements, " <= a.count;");
    }
  }
  void run(Text& text) const override {
    text.line("      const long long i = start + (q * threads + thread) * ", shape_.run, ";");
    code_.split(text, dims_, "i");
  }
  void index(Text& text) const override {
    text.line("      const long long i = start + ((e / ", shape_.run, ") * threads + thread) * ",
              shape_.run, " + e % ", shape_.run, ";");
  }
  void element(Text& text) const override {
    text.line("      const long long i = start + e * threads + thread;");
    code_.split(text, dims_, "i");
  }
  void single(Text& text) const override {
    text.line("      const long long i = start + m * threads + thread;");
    text.line("      if (i >= a.count) break;");
    code_.split(text, dims_, "i");
  }

 private:
  const KernelShape& shape_;
  const ProgramText& code_;
  const std::vector<unsigned>& dims_;
};

/// The elements of a thread are rows of kPiece, as many a pass `n` as the shape says.
class TiledWalk final : public MapWalk {
 public:
  TiledWalk(const Program& program, const KernelShape& shape, const ProgramText& code,
            const std::vector<unsigned>& dims)
      : rank_(program.rank), rows_(shape.elements / kPiece), code_(code), dims_(dims) {}

  void begin(Text& text) const override {
    const auto divide = [&](const char* of, const char* by) {
      text.line("  const unsigned ", of, " = rest % ", by, ";");
      text.line("  rest /= ", by, ";");
    };
    text.line("  unsigned rest = blockIdx.x;");
    divide("inner_tile", "a.inner_tiles");
    divide("across_tile", "a.across_tiles");
    text.line("  const unsigned other = rest, warp = thread / ", kWarp, ", lane = thread % ", kWarp,
              ";");
    text.line("  const unsigned wide = 1u << a.wide_log2, tall = threads / ", kWarp,
              " >> a.wide_log2;");
    text.line("  const long long inner = ((long long)inner_tile * wide + warp % wide) * ", kInner,
              " + lane / ", kStep, " * ", kPiece, ";");
    text.line("  const long long across = ((long long)across_tile * tall + warp / wide) * ",
              kAcross, " + lane % ", kStep, ";");
    for (unsigned d = 0; d < rank_; ++d) text.line("  long long b", d, ";");
    text.line("  {");
    code_.split(text, dims_, "other");
    for (unsigned d = 0; d + 1 < rank_; ++d) {
      text.line("    b", d, " = c", d, " + (a.across_dim == ", d, " ? across : 0);");
    }
    text.line("    b", rank_ - 1, " = inner;");
    text.line("  }");
    text.line("  const bool whole = inner + ", kPiece, " <= a.inner_extent && across + ",
              (kRows - 1) * kStep, " < a.across_extent;");
  }
  void run(Text& text) const override { locate(text, "q", "0"); }
  void index(Text& text) const override { element(text); }
  void element(Text& text) const override {
    locate(text, "e / " + std::to_string(kPiece), "e % " + std::to_string(kPiece));
  }
  void single(Text& text) const override {
    const std::string row = "m / " + std::to_string(kPiece);
    const std::string place = "m % " + std::to_string(kPiece);
    text.line("      if (inner + ", place, " >= a.inner_extent) continue;");
    text.line("      if (across + ", below(row), " >= a.across_extent) continue;");
    locate(text, row, place);
  }

 private:
  /// How far a row of the pass is from the thread's first one.
  [[nodiscard]] std::string below(const std::string& row) const {
    return "(n * " + std::to_string(rows_) + " + " + row + ") * " + std::to_string(kStep);
  }
  void locate(Text& text, const std::string& row, const std::string& place) const {
    std::string index;
    for (unsigned d = 0; d < rank_; ++d) {
      const std::string dim = std::to_string(d);
      const bool last = d + 1 == rank_;
      text.line("      const long long c", d, " = b", d, " + (",
                last ? place : "a.across_dim == " + dim + " ? " + below(row) + " : 0", ");");
      index += last ? "c" + dim : "c" + dim + " * a.step" + dim + " + ";
    }
    text.line("      const long long i = ", index, ";");
  }

  const unsigned rank_, rows_;
  const ProgramText& code_;
  const std::vector<unsigned>& dims_;
};

}  // namespace

std::unique_ptr<MapWalk> make_map_walk(const Program& program, const KernelShape& shape,
                                       const ProgramText& code, const std::vector<unsigned>& dims) {
  if (shape.tiled) return std::make_unique<TiledWalk>(program, shape, code, dims);
  return std::make_unique<LinearWalk>(shape, code, dims);
}

}  // namespace forebay::cuda
