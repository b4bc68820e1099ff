// What is live in a pool, by tag and by place of allocation: the report forebay.leaks/1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace forebay::pool {

/// Which allocations have their call stacks kept: none, a sample by bytes, or all.
enum class StackMode : std::uint8_t { off, sampled, all };
[[nodiscard]] std::string_view to_string(StackMode mode) noexcept;

/// Live blocks with the same tag that were allocated in the same place.
struct LeakGroup {
  std::string tag;           ///< "(untagged)" without one
  std::uint64_t blocks = 0;  ///< live blocks
  std::uint64_t bytes = 0;   ///< requested bytes of them
  /// Bytes that they stand for: with sampled stacks an unbiased estimate for the place, otherwise
  /// `bytes`. 0 for the blocks that the sample left out.
  std::uint64_t estimated_bytes = 0;
  /// Numbers of the earliest and the latest of these allocations among all that had their stacks
  /// kept, from 1; 0 where none was kept.
  std::uint64_t first = 0, last = 0;
  /// The call stack, innermost first, without the pool's own functions; empty if it was not kept.
  std::vector<std::string> site;
};

/// A report of leaks. Groups come with the most bytes first; their blocks and bytes add up to the
/// totals.
struct LeakReport {
  StackMode stacks = StackMode::off;
  std::uint64_t sample_bytes = 0;  ///< mean distance of sampled allocations in bytes, else 0
  /// What named the functions: "libdw" (with file and line), "dladdr" (exported functions only), or
  /// "none" where no stack was kept.
  std::string symbols = "none";
  std::uint64_t blocks = 0, bytes = 0;
  std::vector<LeakGroup> groups;
};

/// One JSON object on one line, every key always present.
[[nodiscard]] std::string to_json(const LeakReport& report);
/// Lines for people, of at most `most` groups; what is left out is summed up in the last line.
/// Control characters of tags come out as '?'.
[[nodiscard]] std::string to_text(const LeakReport& report, std::size_t most = 20);

}  // namespace forebay::pool
