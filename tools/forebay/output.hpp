// Files that a command writes at its end, found writable at its start.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "pool/trace/target_file.hpp"

namespace forebay::tools {

/// A file that is found writable before the work and written after it, so that a name that cannot
/// be written costs no work. What a regular file held stays until all of the new text is written,
/// whatever ends the work before; see pool::TargetFile.
class OutputFile {
 public:
  OutputFile() = default;  ///< wanted by nobody: `write` does nothing
  /// "-" is standard output, "" nothing. Throws Error that names the file and the reason.
  explicit OutputFile(const std::string& path);

  [[nodiscard]] bool wanted() const noexcept { return !path_.empty(); }
  [[nodiscard]] bool is_standard_output() const noexcept { return path_ == "-"; }
  /// Which file it is, whatever it was called; nothing for one that nobody wants.
  [[nodiscard]] std::optional<pool::FileIdentity> identity() const;
  /// Replaces what the file held, once. Throws Error when not all of it could be written.
  void write(std::string_view text);

 private:
  [[noreturn]] void fail(int error) const;

  std::string path_;
  pool::TargetFile target_;
};

/// A file that is written, with the option that names it.
struct NamedOutput {
  const char* option;
  const OutputFile& file;
  const std::string& name;
};
/// A file that is read, with what the command line calls it; an empty name for none.
struct NamedInput {
  const char* option;
  const std::string& name;
};
/// Throws UsageError when two outputs are the same file, or an output is a regular file that is
/// read.
void require_distinct(std::initializer_list<NamedOutput> outputs,
                      std::initializer_list<NamedInput> inputs);

/// Puts /dev/null where standard input, output or error is closed; otherwise the next file opened
/// would take its place and receive what is meant for it. Text for a standard output that was
/// closed cannot be written, as `flush_standard_output` then tells; a closed standard error
/// swallows it.
void fill_standard_descriptors() noexcept;

/// Writes what is left in the buffer of standard output. Throws Error if any of its text so far
/// could not be written.
void flush_standard_output();

/// `text` with every control character as \xNN, so that it stays on its line and moves no cursor.
/// Other UTF-8 stays.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace forebay::tools
