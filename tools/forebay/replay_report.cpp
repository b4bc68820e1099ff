#include "tools/forebay/replay_report.hpp"

#include <cstdio>

#include "runtime/size_text.hpp"
#include "tools/forebay/json_writer.hpp"

namespace forebay::tools {
namespace {

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

double held_over_requested(const ReplayReport& report) {
  return ratio(static_cast<double>(report.result.stats.held.peak),
               static_cast<double>(report.trace.peak_requested));
}

/// Driver time as a share of the time that the job took, once for each pass.
double driver_share(const ReplayReport& report, std::uint64_t driver_us, std::size_t passes) {
  return ratio(static_cast<double>(driver_us),
               static_cast<double>(report.trace.duration_us) * static_cast<double>(passes));
}

const pool::TraceEvent* failed_event(const ReplayReport& report) {
  const pool::ReplayOutcome& outcome = report.result.outcome;
  return outcome.completed ? nullptr : &report.trace.events[outcome.failed_event];
}

/// "alloc of block 12 (5242880 bytes) on stream 0".
std::string described(const ReplayReport& report, const pool::TraceEvent& event) {
  std::string text =
      std::string(to_string(event.action)) + " of block " + std::to_string(event.block);
  if (event.action == pool::TraceAction::alloc) {
    text += " (" + std::to_string(event.size) + " bytes)";
  }
  return text + " on stream " + std::to_string(report.trace.streams[event.stream]);
}

void write_failure(JsonWriter& out, const ReplayReport& report) {
  const pool::TraceEvent* event = failed_event(report);
  if (event == nullptr) {
    out.key("failed_event").null().key("failure").null();
    return;
  }
  const pool::ReplayOutcome& outcome = report.result.outcome;
  out.field("failed_event", outcome.failed_event + 1);
  out.key("failure")
      .begin_object()
      .field("pass", report.result.passes.size())
      .field("action", to_string(event->action))
      .field("block", event->block)
      .field("size", event->size)
      .field("stream", report.trace.streams[event->stream])
      .field("live_bytes", outcome.live_bytes)
      .field("error", outcome.error)
      .field("report", outcome.report)
      .end_object();
}

void write_passes(JsonWriter& out, const ReplayReport& report) {
  out.key("passes").begin_array();
  for (const ReplayPass& pass : report.result.passes) {
    out.begin_object()
        .field("driver_calls", pass.driver_calls)
        .field("driver_us", pass.driver_us)
        .field("driver_us_over_duration", driver_share(report, pass.driver_us, 1))
        .field("host_waits", pass.host_waits)
        .field("device_syncs", pass.device_syncs)
        .field("seconds", pass.seconds)
        .end_object();
  }
  out.end_array();
}

}  // namespace

std::string replay_json(const ReplayReport& report) {
  const auto& [file, trace, device, work, event_lag, result] = report;
  const pool::PoolStats& stats = result.stats;
  JsonWriter out;
  out.begin_object()
      .field("trace", file)
      .field("format", trace.format)
      .field("scale", work.scale)
      .field("device", device.id())
      .field("device_name", device.info().name)
      .field("events", trace.events.size())
      .field("blocks", trace.blocks)
      .field("streams", trace.streams.size())
      .field("prologue", trace.prologue)
      .field("job_failures", trace.failures)
      .field("duration_us", trace.duration_us)
      .field("repeat", work.repeat)
      .field("touch", work.touch);
  out.key("event_lag");
  if (work.timeline != nullptr) {
    out.value(event_lag);
  } else {
    out.null();
  }
  out.field("completed", result.outcome.completed);
  write_failure(out, report);
  out.field("peak_requested", trace.peak_requested)
      .field("peak_held", stats.held.peak)
      .field("held_over_requested", held_over_requested(report))
      .field("capacity", stats.capacity)
      .field("device_syncs", stats.device_syncs)
      .field("host_waits", stats.host_waits);
  out.key("driver_calls").begin_object();
  pool::DriverStats::each_field(
      [&](const char* name, pool::Merge, const auto& tally) { out.field(name, tally.count); },
      stats.driver);
  out.end_object()
      .field("driver_us", stats.driver_us())
      .field("driver_us_over_duration",
             driver_share(report, stats.driver_us(), result.passes.size()))
      .field("ns_per_event_p50", result.ns_per_event_p50)
      .field("ns_per_event_p99", result.ns_per_event_p99)
      .field("events_per_batch", pool::Replay::kBatch);
  out.key("lost_block");
  if (result.lost_block) {
    out.value(*result.lost_block);
  } else {
    out.null();
  }
  write_passes(out, report);
  out.key("stats").raw(result.stats_json);
  return out.end_object().text();
}

std::string replay_table(const ReplayReport& report) {
  const auto& [file, trace, device, work, event_lag, result] = report;
  const pool::PoolStats& stats = result.stats;
  std::string text;
  const auto line = [&text](const char* label, const std::string& value) {
    char buffer[160];
    const int length = std::snprintf(buffer, sizeof buffer, "%-16s %s\n", label, value.c_str());
    text.append(buffer, std::min(static_cast<std::size_t>(length), sizeof buffer - 1));
  };
  const auto number = [](double value, const char* format) {
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, format, value);
    return std::string(buffer);
  };
  line("device", device.id());
  line("events", std::to_string(trace.events.size()) + " on " +
                     std::to_string(trace.streams.size()) + " streams, " +
                     std::to_string(result.passes.size()) + " passes");
  if (work.scale != 1) line("scale", number(work.scale, "%g"));
  line("completed", result.outcome.completed ? "yes" : "no");
  line("peak requested", describe_size(trace.peak_requested));
  line("peak held", describe_size(stats.held.peak) + ", " +
                        number(held_over_requested(report), "%.4f x requested"));
  line("capacity", describe_size(stats.capacity));
  line("device syncs", std::to_string(stats.device_syncs));
  line("host waits", std::to_string(stats.host_waits));
  line("driver", std::to_string(stats.driver_calls()) + " calls, " +
                     std::to_string(stats.driver_us()) + " us, " +
                     number(100 * driver_share(report, stats.driver_us(), result.passes.size()),
                            "%.3f %% of the job's time"));
  line("event", number(result.ns_per_event_p50, "%.0f ns p50, ") +
                    number(result.ns_per_event_p99, "%.0f ns p99"));
  if (result.passes.size() > 1) {
    line("last pass", std::to_string(result.passes.back().driver_calls) + " driver calls");
  }
  if (!result.outcome.report.empty()) text += "\n" + result.outcome.report;
  if (text.back() != '\n') text += '\n';
  return text;
}

std::string replay_failure(const ReplayReport& report) {
  if (const pool::TraceEvent* event = failed_event(report)) {
    const pool::ReplayOutcome& outcome = report.result.outcome;
    return "event " + std::to_string(outcome.failed_event + 1) + ", " + described(report, *event) +
           ", failed with " + std::to_string(outcome.live_bytes) + " bytes live: " + outcome.error;
  }
  if (report.result.lost_block) {
    const std::vector<pool::TraceEvent>& events = report.trace.events;
    std::uint64_t live = 0;  // when the block was allocated, itself included
    std::size_t at = 0;
    std::vector<std::uint64_t> sizes(report.trace.blocks, 0);
    for (; at < events.size(); ++at) {
      const pool::TraceEvent& event = events[at];
      if (event.action == pool::TraceAction::alloc) live += sizes[event.block] = event.size;
      if (event.action == pool::TraceAction::free) live -= sizes[event.block];
      if (event.action == pool::TraceAction::alloc && event.block == *report.result.lost_block) {
        break;
      }
    }
    return "event " + std::to_string(at + 1) + ", " + described(report, events[at]) + " with " +
           std::to_string(live) +
           " bytes live: the block lost its stamp; somebody else wrote into its memory while it "
           "was live";
  }
  return {};
}

}  // namespace forebay::tools
