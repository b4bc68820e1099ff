#include "forebay/runtime/log.hpp"

#include <unistd.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "tests/runtime/child.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;

TEST_CASE("Lines below the level are dropped, the others go to standard error") {
  const auto ended = test::in_child([] {
    set_log_level(LogLevel::info);
    if (logs(LogLevel::debug) || !logs(LogLevel::info) || logs(LogLevel::off)) return 1;
    log(LogLevel::debug, "dropped");
    log(LogLevel::info, "kept {} %s");
    log(LogLevel::error, "kept too");
    set_log_level(LogLevel::off);
    log(LogLevel::error, "silent");
    return 0;
  });
  CHECK(ended.code == 0);
  CHECK(ended.err.find("dropped") == std::string::npos);
  CHECK(ended.err.find("silent") == std::string::npos);
  CHECK(ended.err.find("forebay info: kept {} %s\n") != std::string::npos);
  CHECK(ended.err.find("forebay error: kept too\n") != std::string::npos);
}

TEST_CASE("Warnings are written without any configuration") {
  const auto ended = test::in_child([] {
    log(LogLevel::info, "quiet");
    log(LogLevel::warn, "loud");
    return 0;
  });
  CHECK(ended.err.find("quiet") == std::string::npos);
  CHECK(ended.err.find("forebay warning: loud\n") != std::string::npos);
}

TEST_CASE("Lines of several threads stay whole") {
  constexpr int kThreads = 4;
  constexpr int kLines = 100;
  const auto ended = test::in_child([] {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([] {
        for (int i = 0; i < kLines; ++i) log(LogLevel::warn, "abcdefghij");
      });
    }
    for (auto& thread : threads) thread.join();
    return 0;
  });
  CHECK(std::count(ended.err.begin(), ended.err.end(), '\n') == kThreads * kLines);
  std::size_t whole = 0;
  for (auto at = ended.err.find(": abcdefghij\n"); at != std::string::npos;
       at = ended.err.find(": abcdefghij\n", at + 1)) {
    ++whole;
  }
  CHECK(whole == kThreads * kLines);
}

TEST_CASE("A closed standard error does not stop the caller") {
  const auto ended = test::in_child([] {
    close(2);
    log(LogLevel::error, "nobody reads this");
    return 5;
  });
  CHECK(ended.code == 5);
}
