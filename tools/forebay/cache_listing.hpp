// What lies in a folder of compiled kernels, as people and as scripts read it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/cache_folder.hpp"

namespace forebay::tools {

/// One file of the cache. Texts are as they stand in it, so they may hold anything.
struct CachedKernel {
  std::string name;  ///< of the file
  std::uint64_t bytes = 0;
  std::int64_t used_ns = 0;
  std::string kernel;  ///< this and the next two are empty where something is wrong
  std::string architecture;
  std::string compiler;
  std::string problem;   ///< empty if every bit is right
  bool foreign = false;  ///< another version's, which this one cannot check
  [[nodiscard]] bool wrong() const { return !problem.empty() && !foreign; }
};

struct CacheListing {
  std::string folder;
  std::vector<CachedKernel> kernels;  ///< the last used first
  std::uint64_t bytes = 0;            ///< of all of them
  std::uint64_t unfinished = 0;       ///< files that a writer is at, or left behind
  std::uint64_t max_bytes = 0;
  std::uint64_t max_entries = 0;
};

/// Reads and checks every file; changes nothing. A file that goes meanwhile is left out.
[[nodiscard]] CacheListing list_cache(const CacheFolder& folder);

[[nodiscard]] std::string cache_table(const CacheListing& listing);
[[nodiscard]] std::string cache_json(const CacheListing& listing);

}  // namespace forebay::tools
