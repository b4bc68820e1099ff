// What a replay says: JSON, a table for people, and one line when it failed.
#pragma once

#include <string>

#include "tools/forebay/replay_run.hpp"

namespace forebay::tools {

/// Everything that a report is made of; what it refers to outlives it.
struct ReplayReport {
  const std::string& file;
  const pool::Trace& trace;
  const Device& device;
  const ReplayWork& work;
  std::uint64_t event_lag = 0;
  const ReplayResult& result;
};

[[nodiscard]] std::string replay_json(const ReplayReport& report);
[[nodiscard]] std::string replay_table(const ReplayReport& report);
/// Empty for a replay that completed with every stamp where it was written.
[[nodiscard]] std::string replay_failure(const ReplayReport& report);

}  // namespace forebay::tools
