#include "compute/program_cache.hpp"

#include <bit>

namespace forebay::compute {
namespace {

// Multiply and fold, as in wyhash: both halves of the product reach every bit.
std::uint64_t mix(std::uint64_t hash, std::uint64_t word) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(hash ^ word) * 0x9E3779B97F4A7C15ULL;
  return (static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64)) +
         0xD1B54A32D192ED03ULL;
}

}  // namespace

std::uint64_t structure_hash(const Program& program) noexcept {
  static_assert(sizeof(Instruction) == sizeof(std::uint64_t), "no padding, so bits are the value");
  std::uint64_t hash = mix(program.rank, program.reduced_dims);
  hash = mix(hash, program.leaves.size() << 32 | program.scalars.size());
  for (const Leaf& leaf : program.leaves) {
    hash = mix(
        hash, static_cast<std::uint64_t>(leaf.type) << 8 | static_cast<std::uint64_t>(leaf.access));
  }
  for (const DType type : program.scalars) hash = mix(hash, static_cast<std::uint64_t>(type));
  for (const Instruction& instruction : program.code) {
    hash = mix(hash, std::bit_cast<std::uint64_t>(instruction));
  }
  for (const Output& output : program.outputs) hash = mix(hash, output.value);
  if (program.reduction) {
    hash = mix(hash, static_cast<std::uint64_t>(program.reduction->op) << 32 |
                         program.reduction->value | std::uint64_t{1} << 63);
  }
  return hash;
}

const Program& ProgramCache::get(const Program& program) {
  // The same one often comes several times in a row.
  if (!programs_.empty() && programs_.front().program == program) return programs_.front().program;
  const std::uint64_t hash = structure_hash(program);
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (it->second->program == program) {
      programs_.splice(programs_.begin(), programs_, it->second);
      return programs_.front().program;
    }
  }
  programs_.push_front({hash, program});
  by_hash_.emplace(hash, programs_.begin());
  if (programs_.size() > capacity_) {
    const auto oldest = std::prev(programs_.end());
    const auto [begin, end] = by_hash_.equal_range(oldest->hash);
    for (auto it = begin; it != end; ++it) {
      if (it->second == oldest) {
        by_hash_.erase(it);
        break;
      }
    }
    programs_.erase(oldest);
  }
  count_ = programs_.size();
  return programs_.front().program;
}

}  // namespace forebay::compute
