// The programs that a device knows, by structure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>

#include "forebay/compute/program.hpp"
#include "forebay/runtime/counters.hpp"

namespace forebay::compute {

/// A hash of everything that Program::key spells. Cost: a few ns for each instruction.
[[nodiscard]] std::uint64_t structure_hash(const Program& program) noexcept;

/// Keeps one program for each structure; the least recently used goes first when there are too
/// many. Thread safety: none; guarded by the engine's mutex. Cost of a hit: one hash, one look-up,
/// two comparisons, and the first of these alone for the program of the call before; nothing is
/// allocated.
class ProgramCache {
 public:
  /// `count` shows how many there are.
  ProgramCache(std::size_t capacity, Counter& count) : capacity_(capacity), count_(count) {}
  ~ProgramCache() { count_ = 0; }
  ProgramCache(const ProgramCache&) = delete;
  ProgramCache& operator=(const ProgramCache&) = delete;

  /// The program equal to `program`, copied into the cache if it is new. Valid until the cache has
  /// seen `capacity` other programs.
  [[nodiscard]] const Program& get(const Program& program);
  [[nodiscard]] std::size_t size() const noexcept { return programs_.size(); }

 private:
  struct Entry {
    std::uint64_t hash;
    Program program;
  };
  std::size_t capacity_;
  Counter& count_;
  std::list<Entry> programs_;  // most recently used first
  std::unordered_multimap<std::uint64_t, std::list<Entry>::iterator> by_hash_;
};

}  // namespace forebay::compute
