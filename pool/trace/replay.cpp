#include "forebay/pool/replay.hpp"

#include <chrono>
#include <utility>

#include "forebay/pool/error.hpp"

namespace forebay::pool {
namespace {

double nanoseconds_between(std::chrono::steady_clock::time_point from,
                           std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double, std::nano>(to - from).count();
}

void require(Misuse misuse, const char* what) {
  if (misuse != Misuse::none) {
    throw Error(std::string("the pool refuses a valid ") + what + ": " +
                std::string(to_string(misuse)));
  }
}

}  // namespace

Replay::Replay(const Trace& trace, Pool pool, std::vector<StreamId> streams, ReplayWatcher* watcher)
    : trace_(trace),
      pool_(std::move(pool)),
      streams_(std::move(streams)),
      watcher_(watcher),
      blocks_(trace.blocks) {}

void Replay::play(const TraceEvent& event) {
  ReplayBlock& block = blocks_[event.block];
  const StreamId stream = streams_[event.stream];
  switch (event.action) {
    case TraceAction::alloc: {
      AllocateOptions options;
      options.alignment = std::size_t{1} << event.alignment_log2;
      block.pointer = pool_.allocate(event.size, stream, options);
      block = {block.pointer, event.size, event.block, event.stream, true};
      live_bytes_ += event.size;
      if (watcher_ != nullptr) watcher_->allocated(block);
      break;
    }
    case TraceAction::use:
      if (watcher_ != nullptr) watcher_->used(block, event.stream);
      require(pool_.record_use(block.pointer, stream), "use");
      break;
    case TraceAction::free:
      if (watcher_ != nullptr) watcher_->freeing(block, event.stream);
      require(pool_.try_deallocate(block.pointer, stream, block.size), "free");
      block.live = false;
      live_bytes_ -= block.size;
      break;
  }
}

ReplayOutcome Replay::pass() {
  const std::uint64_t count = trace_.events.size();
  batch_ns_.reserve(batch_ns_.size() + count / kBatch + 1);
  ReplayOutcome outcome;
  std::uint64_t at = 0;
  const auto play_until = [&](std::uint64_t end) {
    for (; at < end; ++at) {
      if (watcher_ != nullptr) watcher_->begin();
      play(trace_.events[at]);
    }
  };
  try {
    auto begin = std::chrono::steady_clock::now();
    while (count - at >= kBatch) {
      play_until(at + kBatch);
      const auto end = std::chrono::steady_clock::now();
      batch_ns_.push_back(nanoseconds_between(begin, end) / kBatch);
      begin = end;
    }
    play_until(count);
    outcome.completed = true;
  } catch (const OutOfMemory& error) {
    outcome.error = error.what();
    outcome.report = error.report();
  } catch (const Error& error) {
    outcome.error = error.what();
  }
  outcome.failed_event = at;
  outcome.live_bytes = live_bytes_;
  return outcome;
}

void Replay::free_rest(bool watched) {
  for (ReplayBlock& block : blocks_) {
    if (!block.live) continue;
    if (watcher_ != nullptr && watched) watcher_->freeing(block, block.stream);
    require(pool_.try_deallocate(block.pointer, streams_[block.stream], block.size), "free");
    block.live = false;
    live_bytes_ -= block.size;
  }
}

}  // namespace forebay::pool
