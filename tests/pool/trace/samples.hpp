// Traces in files, and small ones made by hand.
#pragma once

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/pool/error.hpp"
#include "forebay/pool/trace.hpp"
#include "tests/support/catch.hpp"

namespace forebay::pool::test {

inline std::string data_file(const std::string& name) {
  return std::string(FOREBAY_SOURCE_DIR "/tests/data/") + name;
}

inline std::string data(const std::string& name) {
  std::ifstream stream(data_file(name), std::ios::binary);
  INFO(name);
  REQUIRE(stream.is_open());
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// What reading `content` complains about; empty if it is a trace.
inline std::string complaint(std::string_view content, const TraceOptions& options = {}) {
  try {
    (void)parse_trace(content, "FILE", options);
    return "";
  } catch (const TraceError& error) {
    return error.what();
  }
}

inline const std::string kCsvHeader = "time_us,action,id,size,stream\n";

/// A CSV trace of these lines.
inline std::string csv(const std::string& lines) { return kCsvHeader + lines; }

/// Every sample whose reader is one of ours, and some lines of a CSV.
inline std::vector<std::string> samples() {
  std::string lines;
  for (int i = 0; i < 200; ++i) {
    const std::string id = std::to_string(i);
    lines += std::to_string(10 * i) + ",alloc," + id + "," + std::to_string(i * 977) + ",0\n";
    if (i % 3 == 0) lines += std::to_string(10 * i + 1) + ",use," + id + ",0,1\n";
    if (i % 2 == 0) lines += std::to_string(10 * i + 2) + ",free," + id + ",0,0\n";
  }
  return {csv(lines), data("samples/rmm_log.csv"), data("samples/torch_snapshot_protocol2.pickle"),
          data("samples/torch_snapshot_protocol4.pickle"),
          data("samples/torch_snapshot_protocol5.pickle")};
}

}  // namespace forebay::pool::test
