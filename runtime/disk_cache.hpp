// A bounded cache on disk for what is dear to make and can be made again at any time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/cache_folder.hpp"

namespace forebay {

/// Keeps contents by all that they were made from, their material. Nothing in it is trusted: an
/// entry is given out only if every bit of it is right and its whole material is the one asked for;
/// anything else is deleted. No call fails: where the folder cannot be used (or no longer be
/// written), the cache keeps less or nothing and says so once.
///
/// There are no locks between processes, so none can be left behind: entries appear by renaming, of
/// two writers of one entry the last wins, and an entry that somebody deletes stays whole for those
/// who are reading it.
///
/// Invariant: after each `store` this process has seen no more than the limits, as far as it
/// counted; it counts all files at its first store and at every 32nd after, in between only what it
/// wrote itself. So n processes exceed the limits by at most 31 n entries, for so long.
/// Thread safety: every call may be made from any thread.
class DiskCache {
 public:
  struct Options {
    std::filesystem::path folder;  ///< absolute; empty: default_cache_folder()
    std::uint64_t max_bytes = 0;
    std::uint32_t max_entries = 0;
    std::function<void(std::string_view)> warn;  ///< hears at most one line, from any thread
  };
  /// Touches nothing: the folder is opened, or made, at the first use.
  explicit DiskCache(Options options);
  ~DiskCache();
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;

  struct Found {
    std::optional<std::string> content;
    bool doubtful = false;  ///< there was an entry that could not be trusted
  };
  /// Cost: one file read and two hashes of it.
  [[nodiscard]] Found load(std::string_view material) noexcept;

  struct Stored {
    bool written = false;
    std::uint32_t evicted = 0;  ///< entries that had to go, the least recently used first
  };
  /// Cost: one file written; at times one call for each file of the folder.
  Stored store(std::string_view material, std::string_view content) noexcept;

  /// Deletes an entry whose content turned out to be useless.
  void reject(std::string_view material) noexcept;

 private:
  [[nodiscard]] std::shared_ptr<CacheFolder> folder();
  [[nodiscard]] Found load_checked(std::string_view material);
  [[nodiscard]] Stored store_checked(std::string_view material, std::string_view content);
  [[nodiscard]] std::shared_ptr<CacheFolder> folder_instead_of(
      const std::shared_ptr<CacheFolder>& gone);
  /// Counts what `name` added, evicts what is too much, and returns how much that was.
  [[nodiscard]] std::uint32_t bound(const CacheFolder& folder, const std::string& name,
                                    std::uint64_t bytes);
  [[nodiscard]] std::uint32_t evict(const CacheFolder& folder, const std::string& keep);
  void warn_once(const std::string& why) noexcept;

  Options options_;  // fixed after construction
  std::atomic<bool> warned_{false};
  std::atomic<bool> writes_{true};  // false for good after a write that failed
  std::mutex folder_mutex_;
  bool refused_ = false;                 // folder_mutex_
  std::shared_ptr<CacheFolder> folder_;  // folder_mutex_
  std::mutex count_mutex_;
  std::uint32_t until_count_ = 0;  // count_mutex_; stores until all files are counted again
  std::uint64_t bytes_ = 0;        // count_mutex_; what is known to lie in the folder
  std::uint64_t entries_ = 0;      // count_mutex_
};

}  // namespace forebay
