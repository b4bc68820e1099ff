// PyTorch's memory snapshot: torch.cuda.memory._snapshot(), pickled.
#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include "pool/trace/builder.hpp"
#include "pool/trace/readers.hpp"
#include "pool/trace/unpickle.hpp"

namespace forebay::pool {
namespace {

using Value = Pickle::Value;

enum class What : std::uint8_t { alloc, free, oom, other };

/// Real dictionaries have about ten keys. Values may be shared, so a small pickle could name one
/// huge dictionary for each of a million events.
constexpr std::size_t kMaxKeys = 256;

struct Event {
  What what = What::other;
  std::int64_t time_us = 0;
  std::uint64_t address = 0, size = 0, stream = 0;
};

/// A snapshot after its pickle was read. Unknown keys and actions are left alone: newer versions of
/// PyTorch add some.
class Snapshot {
 public:
  Snapshot(std::string_view content, std::string_view name, const TraceOptions& options)
      : name_(name), bytes_(content.size()), pickle_(content, name, 4 * options.max_bytes) {
    const auto traces = pickle_.find(pickle_.root(), "device_traces");
    if (!traces) {
      fail_trace(
          name_,
          "the pickle has no device_traces; a snapshot of PyTorch with a recorded history is "
          "allowed (torch.cuda.memory._record_memory_history())");
    }
    if (pickle_.kind(*traces) != Pickle::Kind::list) {
      fail_trace(name_, std::string("device_traces is ") + kind_of(*traces) +
                            "; a list with a list of events for each device is allowed");
    }
    choose_device(pickle_.items(*traces), options);
  }

  Trace read() {
    TraceBuilder builder(name_, "event", BlockNames::reused);
    // What was live before the trace began shows in two ways: it is freed without an alloc, or it
    // is live at the end without one.
    std::unordered_set<std::uint64_t> allocated, known;
    std::vector<Event> before;
    for (std::size_t i = 0; i < events_->size(); ++i) {
      builder.at(i + 1);
      const Event event = event_of(builder, (*events_)[i]);
      if (event.what == What::alloc) {
        allocated.insert(event.address);
        known.insert(event.address);
      } else if (event.what == What::free && allocated.erase(event.address) == 0 &&
                 known.insert(event.address).second) {
        before.push_back(event);
      }
    }
    add_live_blocks(known, &before);
    if (!before.empty()) {
      const std::int64_t start = start_us(builder);
      builder.at(0);
      for (const Event& block : before) {
        builder.alloc(start, block.address, block.size, block.stream);
      }
    }
    builder.end_prologue();
    for (std::size_t i = 0; i < events_->size(); ++i) {
      builder.at(i + 1);
      const Event event = event_of(builder, (*events_)[i]);
      if (event.what == What::alloc) {
        builder.alloc(event.time_us, event.address, event.size, event.stream);
      } else if (event.what == What::free) {
        builder.free(event.time_us, event.address, event.stream);
      } else if (event.what == What::oom) {
        builder.failure();
      }
    }
    return builder.finish("torch");
  }

 private:
  /// What stands where something else belongs, for messages.
  const char* kind_of(Value value) const {
    switch (pickle_.kind(value)) {
      case Pickle::Kind::none:
        return "None";
      case Pickle::Kind::list:
        return "a list";
      case Pickle::Kind::dict:
        return "a dictionary";
      case Pickle::Kind::text:
      case Pickle::Kind::bytes:
        return "a text";
      default:
        return "a number";
    }
  }

  void choose_device(const std::vector<Value>& traces, const TraceOptions& options) {
    std::string with_events;
    std::size_t count = 0;
    for (std::size_t i = 0; i < traces.size(); ++i) {
      if (pickle_.kind(traces[i]) != Pickle::Kind::list) {
        fail_trace(name_, "device_traces[" + std::to_string(i) + "] is " + kind_of(traces[i]) +
                              "; a list of events is allowed");
      }
      if (pickle_.items(traces[i]).empty()) continue;
      device_ = i;
      if (++count <= 8) with_events += (count == 1 ? "" : ", ") + std::to_string(i);
    }
    if (options.device) {
      device_ = *options.device;
      if (device_ >= traces.size() || pickle_.items(traces[device_]).empty()) {
        fail_trace(name_, "no events of device " + std::to_string(device_) +
                              "; there are those of: " + (count == 0 ? "none" : with_events));
      }
    } else if (count > 1) {
      fail_trace(name_, "there are events of the devices " + with_events +
                            "; choose one of them with --trace-device N");
    }
    if (device_ < traces.size()) events_ = &pickle_.items(traces[device_]);
  }

  std::uint64_t count(const TraceBuilder& builder, Value event, const char* key) const {
    const auto found = pickle_.find(event, key);
    const std::int64_t value = found ? pickle_.integer(*found).value_or(-1) : -1;
    if (value < 0) {
      builder.fail(std::string(key) + (found ? " is no" : " is missing; it must be a") +
                   " whole number from 0 on");
    }
    return static_cast<std::uint64_t>(value);
  }

  void require_few_keys(const TraceBuilder& builder, Value dictionary) const {
    if (pickle_.keys(dictionary) > kMaxKeys) {
      builder.fail("a dictionary of more than " + std::to_string(kMaxKeys) + " keys");
    }
  }

  Event event_of(const TraceBuilder& builder, Value value) const {
    require_few_keys(builder, value);
    const auto found = pickle_.find(value, "action");
    const auto action = found ? pickle_.text(*found) : std::nullopt;
    if (!action) builder.fail("it has no action; an event is a dictionary with one");
    Event event;
    if (*action == "oom") event.what = What::oom;
    if (*action == "alloc") event.what = What::alloc;
    // The work on a block ends where its free was asked for, not where it was carried out.
    if (*action == "free_requested" || *action == "free") event.what = What::free;
    if (event.what == What::other || event.what == What::oom) return event;
    event.address = count(builder, value, "addr");
    event.size = count(builder, value, "size");
    event.stream = count(builder, value, "stream");
    if (pickle_.find(value, "time_us")) {  // old snapshots have none
      event.time_us = static_cast<std::int64_t>(count(builder, value, "time_us"));
    }
    return event;
  }

  /// Of the first event that has a time.
  std::int64_t start_us(const TraceBuilder& builder) const {
    for (const Value value : *events_) {
      const Event event = event_of(builder, value);
      if (event.what == What::alloc || event.what == What::free) return event.time_us;
    }
    return 0;
  }

  /// Blocks of the device's segments that are live at the end and that no event has named.
  void add_live_blocks(const std::unordered_set<std::uint64_t>& known, std::vector<Event>* blocks) {
    const auto segments = pickle_.find(pickle_.root(), "segments");
    if (!segments) return;
    if (pickle_.kind(*segments) != Pickle::Kind::list) {
      fail_trace(name_, std::string("segments is ") + kind_of(*segments) +
                            "; a list of segments is allowed");
    }
    TraceBuilder place(name_, "segment", BlockNames::reused);
    const std::vector<Value>& list = pickle_.items(*segments);
    std::size_t visited = 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
      place.at(i + 1);
      require_few_keys(place, list[i]);
      if (pickle_.find(list[i], "device") && count(place, list[i], "device") != device_) continue;
      const auto inside = pickle_.find(list[i], "blocks");
      if (!inside || pickle_.kind(*inside) != Pickle::Kind::list) {
        place.fail("it has no list of blocks; a segment is a dictionary with one");
      }
      std::uint64_t address = 0;
      bool first = true;
      for (const Value block : pickle_.items(*inside)) {
        require_few_keys(place, block);
        if (++visited > bytes_) place.fail("more blocks than the pickle has bytes");
        // Old snapshots give no addresses: blocks lie side by side.
        if (pickle_.find(block, "address")) {
          address = count(place, block, "address");
        } else if (first) {
          address = count(place, list[i], "address");
        }
        first = false;
        const std::uint64_t size = count(place, block, "size");
        const auto state = pickle_.find(block, "state");
        const auto text = state ? pickle_.text(*state) : std::nullopt;
        if (text == "active_allocated" && known.count(address) == 0) {
          const std::uint64_t requested =
              pickle_.find(block, "requested_size") ? count(place, block, "requested_size") : size;
          blocks->push_back({What::alloc, 0, address, requested, count(place, list[i], "stream")});
        }
        address += size;
      }
    }
  }

  const std::string_view name_;
  const std::size_t bytes_;  // of the pickle
  const Pickle pickle_;
  std::size_t device_ = 0;
  const std::vector<Value>* events_ = &kNoEvents;
  static inline const std::vector<Value> kNoEvents{};
};

}  // namespace

bool looks_like_pickle(std::string_view content) noexcept {
  return content.size() >= 2 && content[0] == '\x80' && content[1] >= 0 && content[1] <= 31;
}

Trace read_torch(std::string_view content, std::string_view name, const TraceOptions& options) {
  return Snapshot(content, name, options).read();
}

}  // namespace forebay::pool
