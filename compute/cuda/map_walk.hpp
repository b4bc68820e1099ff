// Which elements a thread of a map takes, as code.
#pragma once

#include <memory>
#include <vector>

#include "compute/cuda/program_text.hpp"

namespace forebay::cuda {

/// Writes where elements are: `i` and, of programs with coordinates, `cD`. What is written stands
/// where `thread` and `threads` are known, between braces of its own.
class MapWalk {
 public:
  MapWalk() = default;
  MapWalk(const MapWalk&) = delete;
  MapWalk& operator=(const MapWalk&) = delete;
  virtual ~MapWalk() = default;

  /// In front of all: among others `whole`, that every element of the thread is inside.
  virtual void begin(Text& text) const = 0;
  /// The first element of run q.
  virtual void run(Text& text) const = 0;
  /// Element e of the runs, `i` alone.
  virtual void index(Text& text) const = 0;
  /// Element e of those that a thread takes side by side, all of them inside.
  virtual void element(Text& text) const = 0;
  /// Element m of those that it takes one after the other; leaves the loop's body where there is
  /// none.
  virtual void single(Text& text) const = 0;
};

/// In the space's own order, or by tiles, as `shape` says.
[[nodiscard]] std::unique_ptr<MapWalk> make_map_walk(const compute::Program& program,
                                                     const KernelShape& shape,
                                                     const ProgramText& code,
                                                     const std::vector<unsigned>& dims);

}  // namespace forebay::cuda
