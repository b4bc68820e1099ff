// Writes small pickles of protocol 4.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace forebay::pool::test {

/// A value, already pickled.
struct Pickled {
  std::string bytes;
  Pickled(std::string_view text) {
    bytes = 'X';
    for (unsigned shift = 0; shift < 32; shift += 8) {
      bytes += static_cast<char>(text.size() >> shift);
    }
    bytes += text;
  }
  Pickled(const char* text) : Pickled(std::string_view(text)) {}
  Pickled(std::int64_t value) {
    bytes = "\x8A\x08";
    for (unsigned shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(value >> shift);
  }
  Pickled(int value) : Pickled(static_cast<std::int64_t>(value)) {}
};

inline Pickled pickled_list(const std::vector<Pickled>& values) {
  Pickled list(0);
  list.bytes = "](";
  for (const Pickled& value : values) list.bytes += value.bytes;
  list.bytes += 'e';
  return list;
}

inline Pickled pickled_dict(const std::vector<std::pair<const char*, Pickled>>& members) {
  Pickled dict(0);
  dict.bytes = "}(";
  for (const auto& [key, value] : members) dict.bytes += Pickled(key).bytes + value.bytes;
  dict.bytes += 'u';
  return dict;
}

inline std::string pickle(const Pickled& root) { return "\x80\x04" + root.bytes + "."; }

/// An event of a snapshot's device_traces.
inline Pickled snapshot_event(const char* action, std::int64_t address, std::int64_t size,
                              std::int64_t stream, std::int64_t time_us) {
  return pickled_dict({{"action", action},
                       {"addr", address},
                       {"size", size},
                       {"stream", stream},
                       {"time_us", time_us}});
}

inline Pickled snapshot_block(std::int64_t address, std::int64_t size, std::int64_t requested,
                              const char* state) {
  return pickled_dict(
      {{"address", address}, {"size", size}, {"requested_size", requested}, {"state", state}});
}

inline Pickled snapshot_segment(int device, std::int64_t stream,
                                const std::vector<Pickled>& blocks) {
  return pickled_dict({{"device", device}, {"stream", stream}, {"blocks", pickled_list(blocks)}});
}

inline std::string snapshot(const std::vector<Pickled>& segments,
                            const std::vector<Pickled>& traces) {
  return pickle(pickled_dict(
      {{"segments", pickled_list(segments)}, {"device_traces", pickled_list(traces)}}));
}

}  // namespace forebay::pool::test
