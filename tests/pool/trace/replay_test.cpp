#include "forebay/pool/replay.hpp"

#include "forebay/pool/lagged_timeline.hpp"
#include "forebay/pool/simulated.hpp"
#include "tests/pool/trace/samples.hpp"

using namespace forebay::pool;
using namespace forebay::pool::test;

namespace {

/// A pool on the simulated source, with a stream for each of a trace.
struct ReplayStage {
  ReplayStage(const Trace& trace, std::size_t capacity, std::uint64_t lag)
      : timeline(std::make_shared<LaggedTimeline>(lag)) {
    PoolConfig config;
    config.capacity = capacity;
    for (std::size_t i = 0; i < trace.streams.size(); ++i) ids.push_back(timeline->add_stream());
    source =
        std::make_shared<SimulatedSource>(SimulatedSource::Options{.total = std::size_t{64} << 30});
    pool = Pool(source, timeline, config);
  }
  std::shared_ptr<LaggedTimeline> timeline;
  std::shared_ptr<SimulatedSource> source;
  std::vector<StreamId> ids;
  Pool pool;
};

/// Ticks the clock and writes down what it is told.
class Diary final : public ReplayWatcher {
 public:
  explicit Diary(LaggedTimeline& timeline) : timeline_(timeline) {}
  void begin() override {
    timeline_.tick();
    ++events;
  }
  void allocated(const ReplayBlock& block) override { note('a', block, block.stream); }
  void used(const ReplayBlock& block, std::uint32_t stream) override { note('u', block, stream); }
  void freeing(const ReplayBlock& block, std::uint32_t stream) override {
    note('f', block, stream);
  }
  std::string text;
  std::uint64_t events = 0;

 private:
  void note(char what, const ReplayBlock& block, std::uint32_t stream) {
    if (text.size() > 1000) return;
    text += what + std::to_string(block.number) + ":" + std::to_string(block.size) + "@" +
            std::to_string(stream) + " ";
  }
  LaggedTimeline& timeline_;
};

constexpr std::size_t kGiB = std::size_t{1} << 30;

}  // namespace

TEST_CASE("a replay does what the trace says, in its order") {
  const Trace trace = parse_trace(
      csv("1,alloc,1,1000,0\n2,alloc,2,3000000,1\n3,use,1,0,1\n4,free,1,0,0\n5,alloc,3,8,0\n"),
      "FILE");
  ReplayStage stage(trace, kGiB, 32);
  Diary diary(*stage.timeline);
  Replay replay(trace, stage.pool, stage.ids, &diary);
  const ReplayOutcome outcome = replay.pass();
  CHECK(outcome.completed);
  CHECK(outcome.live_bytes == 3000008);
  CHECK(diary.events == 5);
  CHECK(diary.text == "a0:1000@0 a1:3000000@1 u0:1000@1 f0:1000@0 a2:8@0 ");
  CHECK(stage.pool.stats().requested.current == 3000008);
  CHECK(stage.pool.stats().allocations.live == 2);
  replay.free_rest();
  CHECK(stage.pool.stats().allocations.live == 0);
  replay.free_rest();
  CHECK(replay.pass().completed);  // once more
  CHECK(stage.pool.stats().allocations.total == 6);
}

TEST_CASE("a replay that runs out of memory names the event and keeps the report") {
  const Trace trace =
      parse_trace(csv("1,alloc,1,3000000,0\n2,alloc,2,5000000,0\n3,alloc,3,1000,0\n"), "FILE");
  ReplayStage stage(trace, std::size_t{4} << 20, 0);
  Replay replay(trace, stage.pool, stage.ids);
  const ReplayOutcome outcome = replay.pass();
  CHECK_FALSE(outcome.completed);
  CHECK(outcome.failed_event == 1);
  CHECK(outcome.live_bytes == 3000000);
  CHECK(outcome.error.find("5000000 bytes requested") != std::string::npos);
  CHECK(outcome.report.find("rungs tried") != std::string::npos);
  replay.free_rest();
  CHECK(stage.pool.stats().allocations.live == 0);
}

TEST_CASE("blocks of nothing are null and harm nobody") {
  const Trace trace = parse_trace(csv("1,alloc,1,0,0\n2,use,1,0,1\n3,free,1,0,0\n"), "FILE");
  ReplayStage stage(trace, kGiB, 0);
  Replay replay(trace, stage.pool, stage.ids);
  CHECK(replay.pass().completed);
  CHECK(stage.pool.stats().allocations.total == 0);
}

TEST_CASE("the peak of requested bytes is the trace's own") {
  for (const char* name : {"streams_pipeline", "prefetch_train", "overlap_streams"}) {
    INFO(name);
    const Trace trace = read_trace(data_file(std::string("traces/") + name + ".csv.gz"));
    ReplayStage stage(trace, std::size_t{32} << 30, 32);
    Diary diary(*stage.timeline);
    Replay replay(trace, stage.pool, stage.ids, &diary);
    CHECK(replay.pass().completed);
    const PoolStats stats = stage.pool.stats();
    CHECK(stats.held.peak >= trace.peak_requested);
    // Exact on one stream, within a quantum for each stream otherwise.
    CHECK(static_cast<double>(stats.requested.peak) ==
          Approx(static_cast<double>(trace.peak_requested)).epsilon(0.02));
    CHECK(stats.device_syncs == 0);
    CHECK(check_identities(stats).empty());
    CHECK(stage.pool.validate().empty());
    CHECK(stage.source->violations().empty());
    CHECK(replay.batch_ns().size() == trace.events.size() / Replay::kBatch);
  }
}

TEST_CASE("a second pass finds what the first one mapped") {
  const Trace trace = parse_trace(
      csv("1,alloc,1,9000000,0\n2,alloc,2,100,0\n3,free,1,0,0\n4,alloc,3,7000000,0\n"), "FILE");
  ReplayStage stage(trace, kGiB, 32);
  Diary diary(*stage.timeline);
  Replay replay(trace, stage.pool, stage.ids, &diary);
  CHECK(replay.pass().completed);
  const Count before = stage.pool.stats().driver_calls();
  CHECK(before > 0);
  replay.free_rest();
  CHECK(replay.pass().completed);
  CHECK(stage.pool.stats().driver_calls() == before);
}
