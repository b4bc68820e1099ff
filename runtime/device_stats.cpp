// The documents of a device about itself: forebay.stats/1 and forebay.leaks/1.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "forebay/pool/stats.hpp"
#include "forebay/runtime/device.hpp"

namespace forebay {

namespace {

using nlohmann::ordered_json;

std::uint64_t read(const Counter& counter) { return counter.load(std::memory_order_relaxed); }

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[sizeof "2000-01-01T00:00:00Z"];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

/// Of the values, whatever the order or the spaces of the text.
std::string hash_of(const std::string& config) {
  const std::string text = nlohmann::json::parse(config).dump();
  char digits[sizeof "0123456789abcdef"];
  std::snprintf(digits, sizeof digits, "%016llx",
                static_cast<unsigned long long>(XXH3_64bits(text.data(), text.size())));
  return digits;
}

ordered_json device_json(const Device& device) {
  const DeviceInfo& info = device.info();
  const std::size_t free = device.free_bytes();
  return {{"kind", to_string(info.kind)},
          {"index", info.index},
          {"name", info.name},
          {"total", info.total_bytes},
          {"used", info.total_bytes - std::min(info.total_bytes, free)},
          {"free", free},
          {"architecture", info.architecture},
          {"multiprocessors", info.multiprocessors},
          {"cuinit_s", info.cuinit_s},
          {"context_s", info.context_s},
          {"driver_calls", device.driver_calls()}};
}

ordered_json kernels_json(const KernelCounters& kernels) {
  return {{"loaded", read(kernels.loaded)},
          {"memory_hits", read(kernels.memory_hits)},
          {"disk_hits", read(kernels.disk_hits)},
          {"disk_written", read(kernels.disk_written)},
          {"disk_evicted", read(kernels.disk_evicted)},
          {"disk_doubtful", read(kernels.disk_doubtful)},
          {"compiled", read(kernels.compiled)},
          {"failed", read(kernels.failed)},
          {"interpreted_launches", read(kernels.interpreted_launches)},
          {"compiled_launches", read(kernels.compiled_launches)},
          {"compile_us", read(kernels.compile_us)},
          {"compile_wait_us", read(kernels.compile_wait_us)},
          {"queued", read(kernels.queued)},
          {"dropped", read(kernels.dropped)}};
}

ordered_json fusion_json(const FusionCounters& fusion) {
  return {{"programs", read(fusion.programs)},
          {"operations", read(fusion.operations)},
          {"launches", read(fusion.launches)},
          {"reused", read(fusion.reused)},
          {"plans", read(fusion.plans)},
          {"ends",
           {{"read", read(fusion.ends.read)},
            {"max_ops", read(fusion.ends.max_ops)},
            {"max_inputs", read(fusion.ends.max_inputs)},
            {"max_scalars", read(fusion.ends.max_scalars)},
            {"max_height", read(fusion.ends.max_height)},
            {"max_outputs", read(fusion.ends.max_outputs)},
            {"pinned_bytes", read(fusion.ends.pinned_bytes)},
            {"consumer", read(fusion.ends.consumer)}}}};
}

ordered_json graphs_json(const GraphCounters& graphs) {
  return {{"live", read(graphs.live)},
          {"captured", read(graphs.captured)},
          {"replays", read(graphs.replays)},
          {"updated", read(graphs.updated)},
          {"rebuilt", read(graphs.rebuilt)}};
}

ordered_json pool_json(const pool::Pool& pool, StatsDetail detail) {
  const std::size_t ranges = detail == StatsDetail::everything ? kMapRanges : 0;
  return ordered_json::parse(pool::to_json(pool.detailed_stats(ranges)));
}

ordered_json leaks_json_of(const pool::Pool& pool) {
  return ordered_json::parse(pool::to_json(pool.leak_report()));
}

}  // namespace

std::string Device::make_stats_json(StatsDetail detail) const {
  ordered_json document;
  document["schema"] = "forebay.stats/1";
  document["version"] = FOREBAY_VERSION;
  document["time"] = utc_now();
  document["clock"] = {{"name", pool::stats_clock_name()},
                       {"resolution_s", pool::stats_clock_resolution_s()}};
  document["device"] = device_json(*this);
  const std::string config = config_.to_json();
  document["config_hash"] = hash_of(config);
  document["config"] = ordered_json::parse(config);
  document["pool"] = pool_json(pool_, detail);
  if (info_.kind == DeviceKind::cuda) document["pinned"] = pool_json(pinned_, detail);
  document["leaks"] =
      detail == StatsDetail::everything ? leaks_json_of(pool_)["groups"] : ordered_json::array();
  document["kernels"] = kernels_json(counters_.kernels);
  document["fusion"] = fusion_json(counters_.fusion);
  document["autograd"] = {{"live_nodes", read(counters_.autograd.live_nodes)}};
  document["graphs"] = graphs_json(counters_.graphs);
  document["events"] = read(counters_.events);
  document["tensor_tables"] = read(counters_.tensor_tables);
  return document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string Device::leaks_json() const {
  if (forked()) require_open();
  ordered_json document;
  document["schema"] = "forebay.leaks/1";
  document["time"] = utc_now();
  document["device"] = id();
  document["pool"] = leaks_json_of(pool_);
  if (info_.kind != DeviceKind::host) document["pinned"] = leaks_json_of(pinned_);
  return document.dump(2) + "\n";
}

std::string Device::stats_json(StatsDetail detail) const {
  if (state_.load(std::memory_order_acquire) == State::closed) return last_stats_;
  if (forked()) require_open();
  return make_stats_json(detail);
}

}  // namespace forebay
