// Opening shared libraries at run time, so that a program starts on machines without them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace forebay::driver {

/// A library that was opened, or why it was not. Never closed: code of it may run at exit.
/// Thread safety: const calls from any thread.
class DynamicLibrary {
 public:
  /// Opens by a name that the loader resolves or by a path.
  [[nodiscard]] static DynamicLibrary open(const std::string& name);

  /// Opens `<stem>.so.<major>`, the first of these: a copy that this process has loaded already,
  /// then for each major, the newest first, the loader's own search and then `folders`. `majors` is
  /// in order of preference. On failure the error names what was tried.
  [[nodiscard]] static DynamicLibrary search(std::string_view stem, const std::vector<int>& majors,
                                             const std::vector<std::filesystem::path>& folders);

  [[nodiscard]] explicit operator bool() const noexcept { return handle_ != nullptr; }
  /// The address of a function, null if the library has none of this name.
  [[nodiscard]] void* symbol(const char* name) const noexcept;
  /// The same; throws DriverError naming the file if the library has none.
  [[nodiscard]] void* require(const char* name) const;
  /// The file that was opened, or the name if the loader does not tell.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Why it could not be opened; one line.
  [[nodiscard]] const std::string& error() const noexcept { return error_; }

 private:
  bool try_open(const std::string& name, int extra_flags);

  void* handle_ = nullptr;
  std::string path_;
  std::string error_;
};

/// CUDA majors to look for, the newest first: those that a driver of `driver_version` (12040 is
/// 12.4) runs; 0, for no driver, means all that these headers know.
[[nodiscard]] std::vector<int> supported_majors(int driver_version);

/// Folders beyond the loader's own in which CUDA's libraries are found: Python wheels (`component`
/// is the wheel's folder, such as "cuda_nvrtc") of the active environment, and toolkits. Only those
/// that exist.
[[nodiscard]] std::vector<std::filesystem::path> library_folders(std::string_view component);

}  // namespace forebay::driver
