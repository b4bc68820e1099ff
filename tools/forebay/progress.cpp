#include "tools/forebay/progress.hpp"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "tools/forebay/clock.hpp"

namespace forebay::tools {

Progress::Progress(std::string what, std::uint64_t total)
    : what_(std::move(what)), total_(total), terminal_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() { clear(); }

void Progress::at(std::uint64_t done) {
  if (!terminal_) return;
  const double now = now_s();
  if (shown_ && now - last_s_ < 0.1) return;
  last_s_ = now;
  shown_ = true;
  std::fprintf(stderr, "\r%s: %llu of %llu\033[K", what_.c_str(),
               static_cast<unsigned long long>(done), static_cast<unsigned long long>(total_));
  std::fflush(stderr);
}

void Progress::clear() {
  if (!shown_) return;
  shown_ = false;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

}  // namespace forebay::tools
