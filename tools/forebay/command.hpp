// What a subcommand is, and how it declares the options that it takes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace forebay::tools {

/// How the process ends.
enum ExitCode : int {
  kDone = 0,
  kFailed = 1,  ///< it was asked well, but could not be done: a device that is not there, no memory
  kUsage = 2,   ///< it was asked wrongly
};

/// The command was asked wrongly; `what()` is one line that says what is allowed.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Whole numbers from `least` to `most`.
struct Range {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};

/// The options of one subcommand. Each call binds an option to a variable that outlives the set and
/// keeps its value when the option is not given. Names carry no dashes. No value may be empty.
class OptionSet {
 public:
  OptionSet() = default;
  OptionSet(const OptionSet&) = delete;
  OptionSet& operator=(const OptionSet&) = delete;
  virtual ~OptionSet() = default;

  virtual void flag(const char* name, bool& target, const char* help) = 0;
  /// `placeholder` names the value in the help, "FILE" for instance.
  virtual void text(const char* name, std::string& target, const char* placeholder,
                    const char* help) = 0;
  /// Like `text`, but the option alone stands for `bare`.
  virtual void text_or(const char* name, std::string& target, const char* bare,
                       const char* placeholder, const char* help) = 0;
  virtual void number(const char* name, std::uint64_t& target, Range range, const char* help) = 0;
  virtual void choice(const char* name, std::string& target,
                      std::initializer_list<const char*> allowed, const char* help) = 0;
  /// An argument without a name; `required` ones must be given.
  virtual void argument(const char* name, std::string& target, bool required, const char* help) = 0;
};

/// One subcommand.
class Command {
 public:
  Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  virtual ~Command() = default;

  /// The words that call it: "bench cold-start".
  [[nodiscard]] virtual const char* path() const noexcept = 0;
  /// One line for the list of subcommands.
  [[nodiscard]] virtual const char* summary() const noexcept = 0;
  /// An example call, and what it gives; shown at the end of its help.
  [[nodiscard]] virtual const char* example() const noexcept = 0;
  virtual void declare(OptionSet& options) = 0;
  /// Does the work with the values that `declare` bound; at most once. Throws UsageError for values
  /// that are wrong by themselves, forebay::Error for work that fails.
  virtual ExitCode run() = 0;
};

}  // namespace forebay::tools
