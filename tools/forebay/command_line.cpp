#include "tools/forebay/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <exception>
#include <new>

#include "forebay/pool/error.hpp"
#include "tools/forebay/output.hpp"

namespace forebay::tools {
namespace {

constexpr const char* kVersion = "forebay " FOREBAY_VERSION;

using Words = std::vector<std::string>;

std::string joined(const std::vector<std::string>& parts, const char* between) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

Words split(const char* path) { return CLI::detail::split(path, ' '); }

/// Options through CLI11. It converts nothing: errors in our own words say what is allowed. Of an
/// option that is given twice, the last one counts.
class CliOptions final : public OptionSet {
 public:
  explicit CliOptions(CLI::App& app) : app_(app) {}

  void flag(const char* name, bool& target, const char* help) override {
    app_.add_flag(dashed(name), target, help);
  }

  void text(const char* name, std::string& target, const char* placeholder,
            const char* help) override {
    auto* option = app_.add_option(dashed(name), target, with_default(help, target));
    option->type_name(placeholder)->take_last();
  }

  void text_or(const char* name, std::string& target, const char* bare, const char* placeholder,
               const char* help) override {
    auto* option = app_.add_option_function<std::vector<std::string>>(
        dashed(name),
        [&target, bare](const std::vector<std::string>& values) {
          target = values.empty() || values[0].empty() ? bare : values[0];
        },
        help);
    option->type_name(placeholder)->expected(0, 1)->take_last();
  }

  void number(const char* name, std::uint64_t& target, Range range, const char* help) override {
    auto* option = app_.add_option_function<std::string>(
        dashed(name),
        [&target, range, flag = dashed(name)](const std::string& value) {
          const char* end = value.data() + value.size();
          const auto [stop, error] = std::from_chars(value.data(), end, target);
          if (error != std::errc{} || stop != end || target < range.least || target > range.most) {
            throw UsageError(flag + " takes a whole number from " + std::to_string(range.least) +
                             " to " + std::to_string(range.most) + ", not '" + value + "'");
          }
        },
        // A value outside the range stands for an option that is not given.
        with_default(help,
                     target < range.least || target > range.most ? "" : std::to_string(target)));
    option->type_name("N")->take_last();
  }

  void choice(const char* name, std::string& target, std::initializer_list<const char*> allowed,
              const char* help) override {
    const Words names(allowed.begin(), allowed.end());
    auto* option = app_.add_option_function<std::string>(
        dashed(name),
        [&target, names, flag = dashed(name)](const std::string& value) {
          if (std::find(names.begin(), names.end(), value) == names.end()) {
            throw UsageError(flag + " takes " + joined(names, " or ") + ", not '" + value + "'");
          }
          target = value;
        },
        with_default(help, target));
    option->type_name(joined(names, "|"))->take_last();
  }

  void argument(const char* name, std::string& target, bool required, const char* help) override {
    app_.add_option(name, target, help)->required(required)->type_name("");
  }

 private:
  static std::string dashed(const char* name) { return std::string("--") + name; }
  static std::string with_default(const char* help, const std::string& value) {
    return value.empty() ? help : std::string(help) + " (" + value + ")";
  }

  CLI::App& app_;
};

std::string help_of_group(const std::vector<std::unique_ptr<Command>>& commands,
                          const std::string& prefix) {
  std::string text = "Usage: forebay " + (prefix.empty() ? "" : prefix + " ") +
                     "SUBCOMMAND [OPTIONS]\n\nSubcommands (each has --help with an example):\n";
  for (const auto& command : commands) {
    const std::string path = command->path();
    if (!prefix.empty() && path.rfind(prefix + " ", 0) != 0) continue;
    text += "  " + path + std::string(path.size() < 20 ? 20 - path.size() : 1, ' ') +
            command->summary() + "\n";
  }
  return text + "\nExit codes: 0 done, 1 the work failed, 2 asked wrongly.\n";
}

/// The words that may follow `prefix`, for the message about one that may not.
std::string allowed_after(const std::vector<std::unique_ptr<Command>>& commands,
                          const Words& prefix) {
  Words next;
  for (const auto& command : commands) {
    const Words path = split(command->path());
    if (path.size() > prefix.size() && std::equal(prefix.begin(), prefix.end(), path.begin()) &&
        std::find(next.begin(), next.end(), path[prefix.size()]) == next.end()) {
      next.push_back(path[prefix.size()]);
    }
  }
  return joined(next, ", ");
}

struct Found {
  Command* command = nullptr;
  std::size_t words = 0;  ///< how many of the words are its path
};

/// Follows words down the tree of subcommands. A null command means that help was printed.
Found find_command(const std::vector<std::unique_ptr<Command>>& commands, const Words& words) {
  Words prefix;
  for (std::size_t i = 0;; ++i) {
    const std::string place = joined(prefix, " ");
    for (const auto& command : commands) {
      if (place == command->path()) return {command.get(), i};
    }
    const std::string program = place.empty() ? "forebay" : "forebay " + place;
    const std::string allowed = allowed_after(commands, prefix);
    if (i == words.size()) {
      throw UsageError("a subcommand is missing after '" + program + "'; there are: " + allowed);
    }
    if (words[i] == "--help" || words[i] == "-h") {
      std::fputs(help_of_group(commands, place).c_str(), stdout);
      return {};
    }
    if (words[i] == "--version" && prefix.empty()) {
      std::printf("%s\n", kVersion);
      return {};
    }
    prefix.push_back(words[i]);
    if (allowed_after(commands, prefix).empty() &&
        std::none_of(commands.begin(), commands.end(),
                     [&](const auto& c) { return joined(prefix, " ") == c->path(); })) {
      if (words[i].rfind('-', 0) == 0) {
        throw UsageError("'" + program + "' has no option '" + words[i] + "'; it takes --help" +
                         (place.empty() ? ", --version" : "") +
                         " or a subcommand, whose options come after it: " + allowed);
      }
      throw UsageError("'" + program + "' has no subcommand '" + words[i] +
                       "'; there are: " + allowed);
    }
  }
}

/// Refuses a value that is empty, which no option and no argument has a meaning for. `words` is a
/// command's words after its path.
void refuse_empty_values(CLI::App& app, const Words& words) {
  const auto valued = [&app](const std::string& word) -> const CLI::Option* {
    if (word.rfind("--", 0) != 0) return nullptr;
    const CLI::Option* option = app.get_option_no_throw(word);
    return option != nullptr && option->get_items_expected_max() > 0 ? option : nullptr;
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.empty()) {
      const CLI::Option* option = i > 0 ? valued(words[i - 1]) : nullptr;
      if (option == nullptr) throw UsageError("an argument is empty; leave it out, or name a file");
      throw UsageError(words[i - 1] + " takes " + option->get_type_name() + ", not ''");
    }
    if (word.back() != '=' || word.find('=') + 1 != word.size()) continue;
    const std::string name = word.substr(0, word.size() - 1);
    if (const CLI::Option* option = valued(name)) {
      throw UsageError(name + " takes " + option->get_type_name() + ", not ''");
    }
  }
}

ExitCode run_command(Command& command, Words options) {
  const std::string program = std::string("forebay ") + command.path();
  CLI::App app(command.summary(), program);
  app.footer(std::string("Example:\n  ") + command.example());
  CliOptions declared(app);
  command.declare(declared);
  refuse_empty_values(app, options);
  std::reverse(options.begin(), options.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(options));
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return kDone;
  } catch (const CLI::ParseError& error) {
    throw UsageError(std::string(error.what()) + "; see '" + program + " --help'");
  }
  return command.run();
}

}  // namespace

void print_error(std::string line) noexcept {
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::fflush(stdout);
  std::fprintf(stderr, "forebay: %s\n", printable(line).c_str());
}

ExitCode run_command_line(const std::vector<std::unique_ptr<Command>>& commands,
                          const std::vector<std::string>& words) noexcept {
  try {
    const Found found = find_command(commands, words);
    ExitCode code = kDone;
    if (found.command != nullptr) {
      code =
          run_command(*found.command,
                      Words(words.begin() + static_cast<std::ptrdiff_t>(found.words), words.end()));
    }
    flush_standard_output();
    return code;
  } catch (const UsageError& error) {
    print_error(error.what());
    return kUsage;
  } catch (const ConfigError& error) {
    print_error(error.what());
    return kUsage;
  } catch (const std::bad_alloc&) {
    print_error("the machine has no host memory left for this; make the work smaller");
  } catch (const std::exception& error) {
    print_error(error.what());
  }
  return kFailed;
}

}  // namespace forebay::tools
