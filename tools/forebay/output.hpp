// Files that a command writes at its end, found writable at its start.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace forebay::tools {

/// A file that is opened before the work and written after it, so that a name that cannot be
/// written costs no work. What the file held stays until `write`; a file that was made here and
/// never written is removed again.
class OutputFile {
 public:
  OutputFile() = default;  ///< wanted by nobody: `write` does nothing
  /// "-" is standard output, "" nothing. Throws Error that names the file and the reason.
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  [[nodiscard]] bool wanted() const noexcept { return descriptor_ >= 0; }
  [[nodiscard]] bool is_standard_output() const noexcept { return path_ == "-"; }
  /// Whether both write the same file, whatever it was called.
  [[nodiscard]] bool is_same_file(const OutputFile& other) const;
  /// Replaces what the file held. Throws Error when not all of it could be written.
  void write(std::string_view text);

 private:
  [[noreturn]] void fail() const;

  std::string path_;
  int descriptor_ = -1;
  bool remove_at_end_ = false;
};

/// A file with the option that names it.
struct NamedOutput {
  const char* option;
  const OutputFile& file;
  const std::string& name;
};
/// Throws UsageError when two of them are the same file.
void require_distinct(std::initializer_list<NamedOutput> outputs);

/// Puts /dev/null where standard input, output or error is closed; otherwise the next file opened
/// would take its place and receive what is meant for it.
void fill_standard_descriptors() noexcept;

/// Writes what is left in the buffer of standard output. Throws Error if any of its text so far
/// could not be written.
void flush_standard_output();

/// `text` with every control character as \xNN, so that it stays on its line and moves no cursor.
/// Other UTF-8 stays.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace forebay::tools
