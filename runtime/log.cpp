#include "forebay/runtime/log.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>

#include "runtime/process.hpp"

namespace forebay {

namespace {

/// Writes each line by one write(2): lines of several processes do not mix, and unlike a stream
/// of the C library, standard error can be written to until the process is gone.
class StandardError final : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    for (std::size_t done = 0; done < line.size();) {
      const ssize_t written = ::write(STDERR_FILENO, line.data() + done, line.size() - done);
      if (written <= 0) return;
      done += static_cast<std::size_t>(written);
    }
  }
  void flush_() override {}
};

struct Sink {
  spdlog::logger logger{"forebay", std::make_shared<StandardError>()};
  Sink() {
    logger.set_pattern("[%Y-%m-%d %H:%M:%S.%e] forebay %l: %v");
    logger.set_level(spdlog::level::trace);
  }
};

constinit std::atomic<LogLevel> lowest{LogLevel::warn};
constinit process::PerProcess<Sink> sink;

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::trace:
      return spdlog::level::trace;
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::off:
      break;
  }
  return spdlog::level::off;
}

}  // namespace

void log(LogLevel level, std::string_view line) noexcept {
  if (!logs(level)) return;
  try {
    sink.get().logger.log(to_spdlog(level), spdlog::string_view_t(line.data(), line.size()));
  } catch (...) {
    // There is nowhere left to say it.
  }
}

void set_log_level(LogLevel level) noexcept { lowest.store(level, std::memory_order_relaxed); }

bool logs(LogLevel level) noexcept {
  return level != LogLevel::off && level >= lowest.load(std::memory_order_relaxed);
}

}  // namespace forebay
