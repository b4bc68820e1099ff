#include "compute/cuda/kernel_arguments.hpp"

#include <bit>
#include <cassert>
#include <cstring>
#include <limits>

#include "compute/cuda/text.hpp"

namespace forebay::cuda {

using compute::Access;
using compute::Binding;
using compute::Program;

bool needs_coordinates(const Program& program) {
  return program.reduction || has_strided_leaf(program);
}

bool has_strided_leaf(const Program& program) {
  for (const compute::Leaf& leaf : program.leaves) {
    if (leaf.access == Access::strided) return true;
  }
  return false;
}

std::string reduction_total(const compute::ReduceRule& rule) {
  const std::string value(type_name(rule.total));
  return rule.indexed ? "FbBest<" + value + ">" : value;
}

std::string declare_arguments(const Program& program, bool tiled) {
  const bool coordinates = needs_coordinates(program);
  Text text;
  text.line("struct Args {");
  for (std::size_t k = 0; k < program.leaves.size(); ++k) {
    text.line("  const ", memory_name(program.leaves[k].type), "* leaf", k, ";");
    if (program.leaves[k].access != Access::strided) continue;
    for (unsigned d = 0; d < program.rank; ++d) text.line("  long long stride", k, "_", d, ";");
  }
  for (std::size_t k = 0; k < program.outputs.size(); ++k) {
    text.line("  ", memory_name(program.type_of(program.outputs[k].value)), "* out", k, ";");
  }
  if (coordinates) {
    for (unsigned d = 0; d < program.rank; ++d) text.line("  long long extent", d, ";");
  }
  if (program.reduction) {
    const compute::ReduceRule rule =
        rule_of(program.reduction->op, program.type_of(program.reduction->value));
    text.line("  ", memory_name(rule.result), "* result;");
    text.line("  unsigned long long *partials, *mailbox;");
    text.line("  long long kept, reduced, chunk;");
  } else {
    text.line("  long long count;");
  }
  if (tiled) {
    for (unsigned d = 0; d < program.rank; ++d) text.line("  long long step", d, ";");
    text.line("  long long inner_extent, across_extent;");
  }
  for (std::size_t k = 0; k < program.scalars.size(); ++k) {
    if (size_of(program.scalars[k]) < 8) continue;
    text.line("  ", type_name(program.scalars[k]), " scalar", k, ";");
  }
  if (program.reduction) {
    text.line("  unsigned splits, tiles, tiles_magic, tiles_shift;");
    text.line("  unsigned group_log2, columns_log2, inner, ticket;");
  }
  text.line("  unsigned vector, narrow", has_strided_leaf(program) ? ", packed;" : ";");
  if (coordinates) {
    for (unsigned d = 0; d < program.rank; ++d) text.line("  unsigned magic", d, ", shift", d, ";");
  }
  if (tiled)
    text.line(
        "  unsigned across_dim, inner_tiles, across_tiles, patch_log2, wide_log2, across_log2, "
        "copy_log2;");
  for (std::size_t k = 0; k < program.scalars.size(); ++k) {
    if (size_of(program.scalars[k]) == 8) continue;
    const DType type = program.scalars[k];
    text.line("  ", size_of(type) == 4 ? type_name(type) : "unsigned", " scalar", k, ";");
  }
  text.line("};");
  return std::move(text).str();
}

template <typename T>
void ArgumentBuffer::put(T value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  assert(size_ % sizeof(T) == 0);
  if (size_ + sizeof(T) > bytes_.size()) {
    throw Error("a program's kernel parameters take more than 4096 bytes; its limits were ignored");
  }
  std::memcpy(bytes_.data() + size_, &value, sizeof(T));
  size_ += sizeof(T);
}

ArgumentBuffer::ArgumentBuffer(const Program& program, const Binding& binding,
                               const LaunchChoices& choices) {
  const bool coordinates = needs_coordinates(program);
  const TilePlan& tiles = choices.tiles;
  const bool tiled = tiles.blocks > 0;
  std::int64_t count = 1;
  for (const std::int64_t extent : binding.extents) count *= extent;
  Dims extents = binding.extents;  // of what a block index has to be split into
  if (tiled) extents[tiles.across] = extents[extents.size() - 1] = 1;

  for (std::size_t k = 0; k < program.leaves.size(); ++k) {
    put(binding.leaves[k]);
    if (program.leaves[k].access != Access::strided) continue;
    for (unsigned d = 0; d < program.rank; ++d) put(binding.strides[k][d]);
  }
  for (void* const output : binding.outputs) put(output);
  if (coordinates) {
    for (unsigned d = 0; d < program.rank; ++d) put(extents[d]);
  }
  if (program.reduction) {
    const ReducePlan& plan = choices.plan;
    put(binding.reduction);
    put(choices.partials);
    put(binding.mailbox);
    put(plan.kept);
    put(plan.reduced);
    put(plan.chunk);
  } else {
    put(count);
  }
  if (tiled) {
    std::int64_t step = count;
    for (const std::int64_t extent : binding.extents) put(step /= extent);
    put(binding.extents[program.rank - 1U]);
    put(binding.extents[tiles.across]);
  }
  for (std::size_t k = 0; k < program.scalars.size(); ++k) {
    if (size_of(program.scalars[k]) == 8) put(binding.scalars[k]);
  }
  if (program.reduction) {
    const ReducePlan& plan = choices.plan;
    const Division division = division_by(static_cast<std::uint64_t>(plan.tiles));
    put(plan.splits);
    put(static_cast<std::uint32_t>(plan.tiles));
    put(division.magic);
    put(division.shift);
    put(plan.group_log2);
    put(plan.columns_log2);
    put(std::uint32_t{plan.inner});
    put(binding.ticket);
  }
  put(std::uint32_t{choices.vector});
  // Blocks look at indices up to one block's worth beyond the end. Of tiles a block's index is
  // split.
  put(std::uint32_t{tiled ||
                    count < std::int64_t{std::numeric_limits<std::int32_t>::max()} - 65536});
  if (has_strided_leaf(program)) put(choices.packed);
  if (coordinates) {
    for (unsigned d = 0; d < program.rank; ++d) {
      const Division division = division_by(static_cast<std::uint64_t>(extents[d]));
      put(division.magic);
      put(division.shift);
    }
  }
  if (tiled) {
    put(std::uint32_t{tiles.across});
    put(tiles.inner_tiles);
    put(tiles.across_tiles);
    put(std::uint32_t{tiles.patch_log2()});
    put(std::uint32_t{tiles.wide_log2()});
    put(std::uint32_t{tiles.across_log2()});
    put(std::uint32_t{choices.copy_log2});
  }
  for (std::size_t k = 0; k < program.scalars.size(); ++k) {
    if (size_of(program.scalars[k]) < 8) put(static_cast<std::uint32_t>(binding.scalars[k]));
  }
  // The structure's size is a multiple of its alignment; the launch copies all of it.
  if (size_ % 8 != 0) put(std::uint32_t{0});
}

// Granlund and Montgomery, "Division by invariant integers using multiplication", PLDI 1994.
Division division_by(std::uint64_t extent) noexcept {
  if (extent == 0 || extent >= (std::uint64_t{1} << 31)) return {};
  const auto shift = static_cast<std::uint32_t>(std::bit_width(extent - 1));
  const std::uint64_t magic =
      ((std::uint64_t{1} << 32) * ((std::uint64_t{1} << shift) - extent)) / extent + 1;
  return {static_cast<std::uint32_t>(magic), shift};
}

}  // namespace forebay::cuda
