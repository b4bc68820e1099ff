#include "compute/host/reduction.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "compute/convert.hpp"
#include "compute/host/block_run.hpp"
#include "compute/host/reducers.hpp"

namespace forebay::compute::host {
namespace {

using Count = std::uint64_t;

constexpr Count kTilesOfItem = 64;
// Neighbouring groups of columns that one item goes through row by row, so that it reads longer
// pieces of a row than a tile is.
constexpr Count kBundle = 4;

// Of a block of any type, so that blocks side by side do not share the sets of a cache.
constexpr std::size_t kRoom = kBlock * sizeof(double) + kLine;

// The iteration space as tiles of at most kBlock elements that follow each other in it: several
// whole rows of the last dimension, or a piece of one. A tile belongs to a group of results, or to
// one of them; `outer` dimensions come before the last two. Neighbours that are both kept or both
// reduced count as one dimension, whether or not the leaves step through them as through one: the
// order of the additions depends on the shape alone, not on what was fused.
struct Tiling {
  struct Outer {
    Count extent, stride;
  };
  std::vector<Outer> kept, reduced;            // the outermost first
  bool row_kept = false, column_kept = false;  // the last two dimensions
  Count rows = 1, columns = 1;                 // their extents
  Count tile_rows = 1, tile_columns = 1;
  Count row_tiles = 1, column_tiles = 1;
  Count kept_outer = 1, reduced_outer = 1;
  Count elements_of_result = 1;

  explicit Tiling(const Program& program, const Binding& binding) {
    Dims extents;
    std::vector<bool> is_reduced;
    for (std::size_t d = 0; d < binding.extents.size(); ++d) {
      const bool here = ((program.reduced_dims >> d) & 1U) != 0;
      if (!is_reduced.empty() && is_reduced.back() == here) {
        extents[extents.size() - 1] *= binding.extents[d];
      } else {
        extents.push_back(binding.extents[d]);
        is_reduced.push_back(here);
      }
    }
    const std::size_t rank = extents.size();
    columns = static_cast<Count>(extents[rank - 1]);
    column_kept = !is_reduced[rank - 1];
    if (rank > 1) {
      rows = static_cast<Count>(extents[rank - 2]);
      row_kept = !is_reduced[rank - 2];
    }
    Count stride = rows * columns;
    for (std::size_t d = rank > 1 ? rank - 2 : 0; d-- > 0;) {
      const auto extent = static_cast<Count>(extents[d]);
      auto& list = is_reduced[d] ? reduced : kept;
      list.insert(list.begin(), {extent, stride});
      (is_reduced[d] ? reduced_outer : kept_outer) *= extent;
      stride *= extent;
    }
    tile_columns = std::min<Count>(columns, kBlock);
    tile_rows = columns > kBlock ? 1 : std::min<Count>(rows, kBlock / columns);
    row_tiles = (rows + tile_rows - 1) / tile_rows;
    column_tiles = (columns + tile_columns - 1) / tile_columns;
    elements_of_result = reduced_outer * (row_kept ? 1 : rows) * (column_kept ? 1 : columns);
  }

  [[nodiscard]] Count groups() const {
    return kept_outer * (row_kept ? row_tiles : 1) * (column_kept ? column_tiles : 1);
  }
  [[nodiscard]] Count tiles_of_group() const {
    return reduced_outer * (row_kept ? 1 : row_tiles) * (column_kept ? 1 : column_tiles);
  }

  static Count offset(const std::vector<Outer>& dims, Count index) {
    Count sum = 0;
    for (std::size_t d = dims.size(); d-- > 0;) {
      sum += index % dims[d].extent * dims[d].stride;
      index /= dims[d].extent;
    }
    return sum;
  }
};

struct Tile {
  Count index;          // of its first element in the space
  Count reduced;        // the same among the elements of its result
  Count rows, columns;  // of this tile; the last ones may be smaller
};

// What one group's tiles have in common.
struct Group {
  Count outer = 0, row_tile = 0, column_tile = 0;

  Group(const Tiling& t, Count group) {
    if (t.column_kept) {
      column_tile = group % t.column_tiles;
      group /= t.column_tiles;
    }
    if (t.row_kept) {
      row_tile = group % t.row_tiles;
      group /= t.row_tiles;
    }
    outer = group;
  }

  [[nodiscard]] Tile tile(const Tiling& t, Count number) const {
    Count row = row_tile;
    Count column = column_tile;
    if (!t.column_kept) {
      column = number % t.column_tiles;
      number /= t.column_tiles;
    }
    if (!t.row_kept) {
      row = number % t.row_tiles;
      number /= t.row_tiles;
    }
    const Count first_row = row * t.tile_rows;
    const Count first_column = column * t.tile_columns;
    const Count reduced_row = t.row_kept ? number : number * t.rows + first_row;
    return {Tiling::offset(t.kept, outer) + Tiling::offset(t.reduced, number) +
                first_row * t.columns + first_column,
            t.column_kept ? reduced_row : reduced_row * t.columns + first_column,
            std::min(t.tile_rows, t.rows - first_row),
            std::min(t.tile_columns, t.columns - first_column)};
  }
  // Results of the group, and where the first one lies.
  [[nodiscard]] Count results(const Tiling& t) const {
    const Tile first = tile(t, 0);
    return (t.row_kept ? first.rows : 1) * (t.column_kept ? first.columns : 1);
  }
  [[nodiscard]] Count first_result(const Tiling& t) const {
    const Count width = t.column_kept ? t.columns : 1;
    const Count row = t.row_kept ? row_tile * t.tile_rows : 0;
    const Count column = t.column_kept ? column_tile * t.tile_columns : 0;
    return outer * (t.row_kept ? t.rows : 1) * width + row * width + column;
  }
};

void add_tile(const Tiling& t, const Tile& tile, const Reducer& reducer, const std::byte* values,
              std::size_t element, std::byte* states) {
  for (Count row = 0; row < tile.rows;) {
    const std::byte* const from = values + row * tile.columns * element;
    if (t.column_kept) {
      // Kept neighbours are one dimension: before kept columns come reduced rows.
      const Count count = std::min<Count>(kRowsTogether, tile.rows - row);
      const void* rows[kRowsTogether];
      for (Count r = 0; r < count; ++r) rows[r] = from + r * tile.columns * element;
      reducer.columns(states, rows, count, tile.columns, tile.reduced + row);
      row += count;
    } else {
      std::byte* const to = states + (t.row_kept ? row : 0) * reducer.state_bytes;
      reducer.row(to, from, tile.columns, tile.reduced + (t.row_kept ? 0 : row * t.columns));
      ++row;
    }
  }
}

// A group on its way, and its states.
struct Part {
  Group group;
  std::byte* states;
};

// Tiles [first, end) of each part, pieces of rows: several rows join the states of their columns
// together. REQUIRES: run.stays(value).
void add_pieces(const Tiling& t, BlockRun& run, Value value, const Reducer& reducer,
                std::span<const Part> parts, Count first, Count end) {
  alignas(kLine) std::byte rooms[kRowsTogether][kRoom];
  for (Count number = first; number < end; number += kRowsTogether) {
    const Count rows = std::min<Count>(kRowsTogether, end - number);
    for (const Part& part : parts) {
      const void* values[kRowsTogether];
      Count columns = 0;
      for (Count r = 0; r < rows; ++r) {
        const Tile tile = part.group.tile(t, number + r);
        columns = tile.columns;
        run.put(value, rooms[r]);
        run.block(tile.index, columns);
        values[r] = run.value(value);
      }
      reducer.columns(part.states, values, rows, columns, number);
    }
  }
}

std::unique_ptr<std::byte[]> scratch(Count bytes) {
  std::unique_ptr<std::byte[]> memory(new (std::nothrow) std::byte[bytes]);
  if (memory == nullptr) {
    const std::string wanted = std::to_string(bytes) + " bytes for the parts of a reduction";
    throw OutOfMemory("host: out of memory: " + wanted, wanted + " were requested");
  }
  return memory;
}

// Joins `count` lists of `width` states into the first one, by halves.
void fold(const Reducer& reducer, std::byte* states, Count count, Count width) {
  const std::size_t bytes = width * reducer.state_bytes;
  while (count > 1) {
    const Count half = (count + 1) / 2;
    for (Count i = 0; i + half < count; ++i) {
      reducer.join(states + i * bytes, states + (i + half) * bytes, width);
    }
    count = half;
  }
}

}  // namespace

void reduce(const Program& program, const BlockProgram& compiled, const Binding& binding,
            Threads& threads) {
  const Value value = program.reduction->value;
  const DType type = program.type_of(value);
  const ReduceRule rule = rule_of(program.reduction->op, type);
  const Reducer& reducer = reducer_of(program.reduction->op, block_type(type));
  const std::size_t element = size_of(block_type(type));
  const std::size_t result_bytes = size_of(rule.result);
  const Tiling t(program, binding);
  const Count tiles = t.tiles_of_group();
  const Count items_of_group = (tiles + kTilesOfItem - 1) / kTilesOfItem;
  // Groups of one item are finished by it; the others leave states, which are joined in order.
  const bool partial = items_of_group > 1;
  const Count width = Group(t, 0).results(t);  // no group has more
  const std::size_t width_bytes = width * reducer.state_bytes;
  const auto partials = scratch(partial ? t.groups() * items_of_group * width_bytes : 0);

  // Overwrites the states.
  const auto finish = [&](const Group& group, std::byte* states) {
    const Count n = group.results(t);
    auto* const target =
        static_cast<std::byte*>(binding.reduction) + group.first_result(t) * result_bytes;
    if (reducer.indices != nullptr) reducer.indices(states, n);
    if (rule.divides) {
      auto* const sums = reinterpret_cast<double*>(states);
      for (Count i = 0; i < n; ++i) sums[i] /= static_cast<double>(t.elements_of_result);
    }
    convert(states, rule.indexed ? DType::i64 : rule.total, target, rule.result, n);
  };
  // An item of `count` groups from `group` on; each gets its tiles in their order.
  const auto run_item = [&](BlockRun& run, Count group, Count count, Count item) {
    alignas(16) std::byte own[kBlock * kMaxStateBytes];
    const auto states_of = [&](Count g) {
      return partial ? partials.get() + (g * items_of_group + item) * width_bytes : own;
    };
    std::vector<Part> parts;
    for (Count g = group; g < group + count; ++g) {
      parts.push_back({Group(t, g), states_of(g)});
      reducer.start(states_of(g), partial ? width : parts.back().group.results(t));
    }
    const Count first = item * kTilesOfItem;
    const Count end = std::min(first + kTilesOfItem, tiles);
    if (t.column_kept && t.tile_rows == 1 && run.stays(value)) {
      add_pieces(t, run, value, reducer, parts, first, end);
    } else {
      for (Count number = first; number < end; ++number) {
        for (const Part& part : parts) {
          const Tile tile = part.group.tile(t, number);
          run.block(tile.index, tile.rows * tile.columns);
          add_tile(t, tile, reducer, static_cast<const std::byte*>(run.value(value)), element,
                   part.states);
        }
      }
    }
    if (!partial) finish(Group(t, group), own);
  };

  const Count groups_of_row = t.column_kept ? t.column_tiles : 1;
  const Count bundle = partial ? kBundle : 1;
  const Count bundles_of_row = (groups_of_row + bundle - 1) / bundle;
  const Count items = t.groups() / groups_of_row * bundles_of_row * items_of_group;
  // Threads take items in runs of about 64 tiles.
  const Count batch = std::max<Count>(1, kTilesOfItem / std::min(tiles, kTilesOfItem));
  threads.run((items + batch - 1) / batch, [&](std::size_t b) {
    BlockRun run(program, compiled, binding);
    for (Count i = b * batch; i < std::min<Count>((b + 1) * batch, items); ++i) {
      const Count row = i / items_of_group / bundles_of_row;
      const Count column = i / items_of_group % bundles_of_row * bundle;
      run_item(run, row * groups_of_row + column, std::min(bundle, groups_of_row - column),
               i % items_of_group);
    }
  });
  if (!partial) return;
  for (Count g = 0; g < t.groups(); ++g) {
    std::byte* const states = partials.get() + g * items_of_group * width_bytes;
    fold(reducer, states, items_of_group, width);
    finish(Group(t, g), states);
  }
}

}  // namespace forebay::compute::host
