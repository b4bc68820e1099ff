#include "runtime/make_pool.hpp"

#include <new>
#include <string>
#include <utility>

#include "forebay/runtime/log.hpp"
#include "runtime/host/host_memory.hpp"
#include "runtime/size_text.hpp"

namespace forebay {
namespace {

/// `what` of a pool, which believes that its section is "pool".
std::string placed(const std::string& what, const std::string& section) {
  constexpr std::string_view kOwn = "/pool/";
  return what.compare(0, kOwn.size(), kOwn) == 0 ? section + what.substr(kOwn.size()) : what;
}

}  // namespace

pool::Pool make_pool(std::string_view section, std::shared_ptr<pool::MemorySource> source,
                     std::shared_ptr<pool::Timeline> timeline, const pool::PoolConfig& config,
                     std::shared_ptr<pool::MemoryTools> tools) {
  const std::string keys = "/" + std::string(section) + "/";
  const std::string ring =
      keys + "trace/ring_bytes: a ring of " + format_size(config.trace_ring_bytes);
  if (const std::size_t memory = host::total_memory(); config.trace_ring_bytes > memory) {
    throw ConfigError(ring + " is more than the " + describe_size(memory) +
                      " that this process may use; allowed is a part of that");
  }
  try {
    return pool::Pool(
        std::move(source), std::move(timeline), config,
        [](std::string_view line) { log(LogLevel::warn, line); }, std::move(tools));
  } catch (const ConfigError& error) {
    throw ConfigError(placed(error.what(), keys));
  } catch (const DriverError& error) {
    const std::string what = error.what();
    if (what.find("of addresses") == std::string::npos) throw;
    throw DriverError(what + "; lower " + keys + "address_range, which is eight times " + keys +
                          "capacity where it is left out",
                      error.code());
  } catch (const std::bad_alloc&) {
    if (config.trace_ring_bytes == 0) throw;
    throw Error(ring + " is more than the host has memory left for; make it smaller");
  }
}

}  // namespace forebay
