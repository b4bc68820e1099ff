#include "runtime/make_pool.hpp"

#include <algorithm>
#include <functional>

#include "forebay/pool/simulated.hpp"
#include "pool/units.hpp"
#include "runtime/config_keys.hpp"
#include "runtime/host/host_source.hpp"
#include "runtime/host/host_timeline.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;

namespace {

using pool::kMiB;
constexpr std::size_t kGiB = kMiB << 10;

/// The message of the exception that this configuration leads to; empty for none.
template <typename Expected>
std::string refusal(const std::function<void(pool::PoolConfig&)>& change,
                    const char* section = "pool",
                    std::shared_ptr<pool::MemorySource> source = nullptr) {
  if (source == nullptr) {
    source =
        std::make_shared<pool::SimulatedSource>(pool::SimulatedSource::Options{.total = 16 * kGiB});
  }
  pool::PoolConfig config;
  change(config);
  try {
    const pool::Pool pool =
        make_pool(section, source, std::make_shared<host::HostTimeline>(), config);
  } catch (const Expected& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a pool is made with the configuration as it is") {
  CHECK(refusal<std::exception>([](pool::PoolConfig&) {}).empty());
}

TEST_CASE("every key that a pool complains of is a key of the configuration") {
  using Change = std::function<void(pool::PoolConfig&)>;
  const std::vector<std::pair<std::string, Change>> wrong = {
      {"capacity", [](auto& c) { c.capacity = 1; }},
      {"soft_limit", [](auto& c) { c.capacity = kGiB, c.soft_limit = 2 * kGiB; }},
      {"export",
       [](auto& c) { c.export_as = pool::PoolExport::fd, c.backing = pool::PoolBacking::malloc; }},
      {"address_range", [](auto& c) { c.capacity = kGiB, c.address_range = kMiB; }},
      {"handle_count", [](auto& c) { c.handle_count = 0; }},
      {"handle_size", [](auto& c) { c.handle_size = 64 * kGiB; }},
      {"idle_share", [](auto& c) { c.idle_share = 2; }},
      {"growth_step", [](auto& c) { c.growth_step = 2; }},
      {"parked_spans", [](auto& c) { c.parked_spans = 1000; }},
      {"slab/max_block", [](auto& c) { c.slab_max_block = kMiB; }},
      {"buddy/max_block", [](auto& c) { c.buddy_max_block = 2 * kMiB; }},
      {"points/every_frees", [](auto& c) { c.point_every_frees = 0; }},
      {"debug/fill", [](auto& c) { c.debug_fill = true; }},
      {"debug/canary", [](auto& c) { c.debug_canary = 16; }},
      {"debug/guard_sample",
       [](auto& c) { c.debug_guard_sample = 1, c.mode = pool::PoolMode::passthrough; }},
      {"leaks/sample_bytes",
       [](auto& c) { c.leak_stacks = pool::StackMode::sampled, c.leak_sample_bytes = 0; }},
  };
  for (const auto& [key, change] : wrong) {
    INFO(key);
    const auto& keys = config_keys::all();
    CHECK(std::any_of(keys.begin(), keys.end(),
                      [&, k = &key](const auto& known) { return known.pointer == "/pool/" + *k; }));
    CHECK(refusal<ConfigError>(change).rfind("/pool/" + key + ": ", 0) == 0);
    CHECK(refusal<ConfigError>(change, "pinned").rfind("/pinned/" + key + ": ", 0) == 0);
  }
}

TEST_CASE("a ring that the host has no memory for is told by its key") {
  const std::string line =
      refusal<ConfigError>([](auto& c) { c.trace_ring_bytes = std::size_t{1} << 50; });
  INFO(line);
  CHECK(line.rfind("/pool/trace/ring_bytes: a ring of 1024 TiB is more than the ", 0) == 0);
  CHECK(line.find("allowed is") != std::string::npos);
}

TEST_CASE("too few addresses are told with the keys that ask for them") {
  const std::string line =
      refusal<DriverError>([](auto& c) { c.capacity = std::size_t{128} << 40; }, "pool",
                           std::make_shared<host::HostSource>(std::size_t{128} << 40));
  INFO(line);
  CHECK(line.find("1125899906842624 bytes of addresses") != std::string::npos);
  CHECK(line.find("/pool/address_range") != std::string::npos);
  CHECK(line.find("/pool/capacity") != std::string::npos);
}
