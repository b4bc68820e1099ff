// From the words of a command line to a subcommand that runs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/forebay/command.hpp"

namespace forebay::tools {

/// Finds the subcommand that `words` (without the program's name) ask for, reads its options and
/// runs it. Prints help and version to standard output and every error as one line on standard
/// error. Never throws.
[[nodiscard]] ExitCode run_command_line(const std::vector<std::unique_ptr<Command>>& commands,
                                        const std::vector<std::string>& words) noexcept;

/// "forebay: " and the message on standard error, as one line whatever it looks like.
void print_error(std::string line) noexcept;

}  // namespace forebay::tools
