#include "tools/forebay/replay_run.hpp"

#include <algorithm>
#include <memory>

#include "forebay/pool/error.hpp"
#include "tools/forebay/clock.hpp"
#include "tools/forebay/touch.hpp"

namespace forebay::tools {
namespace {

constexpr std::uint64_t kProgressEvery = 1U << 16;

/// Moves the simulated clock, shows progress, and touches blocks.
class Watcher final : public pool::ReplayWatcher {
 public:
  Watcher(pool::LaggedTimeline* timeline, Touch* touch, const ReplayProgress& progress)
      : timeline_(timeline), touch_(touch), progress_(progress) {}

  void begin() override {
    if (timeline_ != nullptr) timeline_->tick();
    if (done_++ % kProgressEvery == 0) progress_(done_);
  }
  void allocated(const pool::ReplayBlock& block) override {
    if (touch_ == nullptr) return;
    touch_->stamp(block.pointer, block.size, block.number, block.stream);
  }
  void used(const pool::ReplayBlock& block, std::uint32_t stream) override {
    if (touch_ == nullptr) return;
    touch_->check(block.pointer, block.size, block.number, stream, block.stream);
  }
  void freeing(const pool::ReplayBlock& block, std::uint32_t stream) override {
    if (touch_ == nullptr) return;
    touch_->check(block.pointer, block.size, block.number, stream, block.stream);
  }

 private:
  pool::LaggedTimeline* const timeline_;
  Touch* const touch_;
  const ReplayProgress& progress_;
  std::uint64_t done_ = 0;
};

ReplayPass difference(const pool::PoolStats& before, const pool::PoolStats& after) {
  return {after.driver_calls() - before.driver_calls(), after.driver_us() - before.driver_us(),
          after.host_waits - before.host_waits, after.device_syncs - before.device_syncs};
}

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

ReplayResult run_replay(const pool::Trace& trace, Device& device, const ReplayWork& work,
                        const ReplayProgress& progress) {
  std::vector<Stream> streams;
  std::vector<pool::StreamId> ids;
  for (std::size_t i = 0; i < trace.streams.size(); ++i) {
    streams.push_back(device.create_stream());
    ids.push_back(streams.back().id());
  }
  const std::unique_ptr<Touch> touch = work.touch ? make_touch(device, streams) : nullptr;
  Watcher watcher(work.timeline, touch.get(), progress);
  pool::Pool& pool = device.pool();
  pool::Replay replay(trace, pool, ids, &watcher);

  ReplayResult result;
  pool::PoolStats before;  // all zero, so that making the pool belongs to the first pass
  for (std::uint64_t i = 0; i < work.repeat; ++i) {
    if (i > 0) {
      // The job is over before it begins anew: what it left is freed, and its streams have
      // finished.
      replay.free_rest();
      pool.trim(~std::size_t{0});
      before = pool.stats();
    }
    const double begin = now_s();
    result.outcome = replay.pass();
    const double seconds = now_s() - begin;
    result.stats = pool.stats();
    result.passes.push_back(difference(before, result.stats));
    result.passes.back().seconds = seconds;
    if (!result.outcome.completed) break;
  }
  result.stats_json =
      device.stats_json(work.detail ? StatsDetail::everything : StatsDetail::counters);
  try {
    replay.free_rest();
    if (touch != nullptr) result.lost_block = touch->finish();
  } catch (const Error& error) {
    // What the device only says at its end; a pass that failed already has said why.
    if (result.outcome.completed) {
      result.outcome = {false, trace.events.size() - 1, 0, error.what(), {}};
    }
    replay.free_rest(false);
  }
  result.ns_per_event_p50 = percentile(replay.batch_ns(), 0.50);
  result.ns_per_event_p99 = percentile(replay.batch_ns(), 0.99);
  return result;
}

}  // namespace forebay::tools
