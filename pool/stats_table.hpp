// The statistics of a pool as a tree, and as the tables that people read.
#pragma once

#include <string>

#include "forebay/pool/stats.hpp"
#include "pool/ledger.hpp"

namespace forebay::pool {

/// Every field, under its name in the JSON.
[[nodiscard]] Entry entries_of(const PoolStats& stats);

/// Tables of everything in `entries`: those of `stats`, and whatever else was added to them. Each
/// table ends with an empty line.
[[nodiscard]] std::string to_table(Entry& entries, const PoolStats& stats);

}  // namespace forebay::pool
