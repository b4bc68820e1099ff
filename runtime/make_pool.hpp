// The pool of a device, made so that what is wrong comes with the key that says it.
#pragma once

#include <memory>
#include <string_view>

#include "forebay/pool/pool.hpp"

namespace forebay {

/// A pool that logs warnings. `section` is where its keys stand in the configuration: "pool" or
/// "pinned". Throws as Pool does, with the pointers of that section: ConfigError for a value, Error
/// where the host has no memory for the ring of a trace, DriverError where there are too few
/// addresses.
[[nodiscard]] pool::Pool make_pool(std::string_view section,
                                   std::shared_ptr<pool::MemorySource> source,
                                   std::shared_ptr<pool::Timeline> timeline,
                                   const pool::PoolConfig& config,
                                   std::shared_ptr<pool::MemoryTools> tools = nullptr);

}  // namespace forebay
