// Runs the built command as its users do.
#pragma once

#include <string>
#include <vector>

namespace forebay::test {

struct Outcome {
  int code = -1;    ///< exit code; 128 + the signal's number for a child that a signal ended
  std::string out;  ///< all of standard output
  std::string err;  ///< all of standard error
};

/// Runs `forebay` with these words and waits for its end. `terminal` makes standard error a
/// terminal.
[[nodiscard]] Outcome run_forebay(const std::vector<std::string>& words, bool terminal = false);

/// The same with standard output in `file`, or closed if the name is empty.
[[nodiscard]] Outcome run_forebay_into(const std::string& file,
                                       const std::vector<std::string>& words);

/// The same for another program that was built beside the tests.
[[nodiscard]] Outcome run_beside(const std::string& program, const std::vector<std::string>& words);

/// How many lines a text has; 1 for one that ends with its only line's end.
[[nodiscard]] std::size_t lines(const std::string& text);

/// A folder of its own for one test, removed with everything in it.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  /// Writes a file into it and returns its path.
  [[nodiscard]] std::string with(const std::string& name, const std::string& text) const;
  [[nodiscard]] static std::string read(const std::string& file);

 private:
  std::string path_;
};

}  // namespace forebay::test
