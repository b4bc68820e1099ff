// Progress on long work, for a person who looks at a terminal.
#pragma once

#include <cstdint>
#include <string>

namespace forebay::tools {

/// Keeps one line "what: 12 of 500" on standard error up to date, at most ten times a second, and
/// wipes it when it ends. Does nothing when standard error is not a terminal.
class Progress {
 public:
  Progress(std::string what, std::uint64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `done` of the total are done.
  void at(std::uint64_t done);
  /// Wipes the line, so that something else may be printed; the next `at` draws it again.
  void clear();

 private:
  std::string what_;
  std::uint64_t total_;
  bool shown_ = false;
  bool terminal_;
  double last_s_ = 0;
};

}  // namespace forebay::tools
