// A dump of statistics as a table whose lines add up.
#pragma once

#include <string>

#include "forebay/pool/stats.hpp"
#include "tools/forebay/json_reader.hpp"

namespace forebay::tools {

/// The first sum of docs/statistics.md that a dump does not keep, in one line; empty if it keeps
/// all of them. Throws Error for what is no dump.
[[nodiscard]] std::string check_document(const JsonDocument& document, const std::string& name);

/// The pool's part of a `forebay.stats/1` document that came from `name`. Throws Error when it is
/// no such document or lacks one of its keys.
[[nodiscard]] pool::PoolStats read_pool_stats(const JsonDocument& document,
                                              const std::string& name);

/// The whole document as lines for a terminal. Throws as `read_pool_stats`.
[[nodiscard]] std::string stats_table(const JsonDocument& document, const std::string& name);

}  // namespace forebay::tools
