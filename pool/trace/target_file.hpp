// A file that is given new content.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

namespace forebay::pool {

/// Which file a name means, so that two names of one can be told from two files.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  std::string name;  ///< empty for a file that is there, else its name in that folder

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};
/// Of a regular file that is there; nothing for anything else.
[[nodiscard]] std::optional<FileIdentity> regular_file(const std::string& path);

/// Gives a file new content as its user would expect: a regular one, also behind symbolic links,
/// keeps what it holds until the new content is complete, and its mode and owner; anything else, a
/// device or a pipe, is written to. Failures are told as the errno that says why, 0 for none.
class TargetFile {
 public:
  TargetFile() = default;
  ~TargetFile();
  TargetFile(const TargetFile&) = delete;
  TargetFile& operator=(const TargetFile&) = delete;

  /// Finds out whether `path` can be written; changes nothing. At most once.
  [[nodiscard]] int open(const std::string& path);
  /// The file's whole content. At most once, after an `open` that succeeded.
  [[nodiscard]] int write(std::string_view content);
  /// Of the file that was opened; nothing for one that was not.
  [[nodiscard]] const std::optional<FileIdentity>& identity() const noexcept { return identity_; }

 private:
  int open_new(const std::string& path);
  int replace(std::string_view content, int descriptor, const std::string& unfinished);

  std::string path_;  // without links at its end
  std::optional<FileIdentity> identity_;
  bool exists_ = false;
  int descriptor_ = -1;  // of what is written through
};

/// All of `content`; 0 or the errno that says why not.
[[nodiscard]] int write_all(int descriptor, std::string_view content) noexcept;

}  // namespace forebay::pool
