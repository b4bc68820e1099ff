// Logging: one sink for the process's runtimes, levels by configuration.
#pragma once

#include <string_view>

namespace forebay {

enum class LogLevel : unsigned char { trace, debug, info, warn, error, off };

/// Writes `line` to standard error at `level`. Thread safety: any thread. Never throws.
void log(LogLevel level, std::string_view line) noexcept;
/// Lines below `level` are dropped from now on. The default is `warn`.
void set_log_level(LogLevel level) noexcept;
/// Whether a line at `level` would be written: for those that cost something to put together.
[[nodiscard]] bool logs(LogLevel level) noexcept;

}  // namespace forebay
