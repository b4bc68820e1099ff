// A folder of cache entries that is private to its user: POSIX calls and their checks, no policy.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace forebay {

/// Where a cache lies that no configuration places: $XDG_CACHE_HOME/forebay, else
/// $HOME/.cache/forebay; empty if neither variable holds an absolute path. Set-user-ID programs
/// have none, since whoever starts them owns the variables.
[[nodiscard]] std::filesystem::path default_cache_folder();

/// Nanoseconds since 1970 by the system's clock, as files are stamped.
[[nodiscard]] std::int64_t file_clock_ns() noexcept;

/// Works on the folder that was opened, wherever its path leads later. Inside it, nothing follows a
/// symbolic link. Only names of entries and of this class's temporary files are its business; what
/// else lies there is neither counted nor touched.
/// Thread safety: every call may be made from any thread and process at once; no locks.
class CacheFolder {
 public:
  enum class Missing { make, refuse };
  struct Opened {
    std::unique_ptr<CacheFolder> folder;
    bool absent = false;  ///< with Missing::refuse: there is none
    std::string problem;  ///< why there is none, empty if there is
  };
  /// Makes the folder, and the one around it, with mode 0700 where they are missing. Refuses one
  /// that belongs to somebody else or that others may write to. A symbolic link at the end of the
  /// path is followed (a cache may be moved to another disk that way): what counts is whose folder
  /// it leads to.
  [[nodiscard]] static Opened open(const std::filesystem::path& path, Missing missing);
  ~CacheFolder();
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;

  struct Read {
    /// absent: no such file. unreadable: the system cannot read it now, which says nothing about
    /// it. doubtful: nothing that this class wrote.
    enum class State { read, absent, unreadable, doubtful };
    State state = State::absent;
    std::string bytes;
    std::int64_t used_ns = 0;  ///< its time stamp
    std::string problem;       ///< of unreadable and doubtful ones
  };
  /// Never waits: what lies there may be a pipe.
  [[nodiscard]] Read read(const std::string& name) const;

  /// 0, or the errno of what failed: the file is there as a whole or not at all. It is not synced:
  /// what a crash of the machine leaves of it is found damaged and made again.
  [[nodiscard]] int publish(const std::string& name, std::string_view bytes) const;

  /// Stamps a file as used now.
  void touch(const std::string& name) const noexcept;
  /// Whether it was there and is gone. Removes a link, not what it leads to, and of folders only
  /// empty ones.
  bool remove(const std::string& name) const noexcept;

  struct File {
    std::string name;
    std::uint64_t bytes = 0;
    std::int64_t used_ns = 0;
    bool temporary = false;  ///< what a writer that was killed left behind, or one at work
  };
  /// In no order. Costs one call a file.
  [[nodiscard]] std::vector<File> list() const;

 private:
  explicit CacheFolder(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

}  // namespace forebay
