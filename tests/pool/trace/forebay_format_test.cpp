#include "pool/trace/forebay_format.hpp"

#include <random>

#include "tests/pool/trace/samples.hpp"

using namespace forebay::pool;
using namespace forebay::pool::test;

namespace {

constexpr std::size_t kHeaderBytes = 80;

Trace as_forebay(Trace trace) {
  trace.format = "forebay";
  return trace;
}

Trace example() {
  return parse_trace(csv("5,alloc,1,1000,3\n6,alloc,2,7,1\n4,use,1,0,1\n9,free,1,0,3\n"), "FILE");
}

}  // namespace

TEST_CASE("what is written is read again, whatever it came from") {
  for (const std::string& sample : samples()) {
    const Trace trace = parse_trace(sample, "FILE");
    const std::string content = encode_trace(trace);
    CHECK(parse_trace(content, "FILE") == as_forebay(trace));
    CHECK(encode_trace(parse_trace(content, "FILE")) == content);
  }
  Trace special = example();
  special.events[0].alignment_log2 = 47;
  special.prologue = 2;
  special.failures = 5;
  special.streams = {UINT64_MAX, 0};
  special.events[1].size = kMaxTraceBlock;
  special.peak_requested = kMaxTraceBlock + 1000;
  special.events[3].time_us = special.duration_us = std::uint64_t{1} << 60;
  CHECK(parse_trace(encode_trace(special), "FILE") == as_forebay(special));
}

TEST_CASE("a real trace takes a fraction of its CSV") {
  const std::string file = "traces/gpt2_varlen_train.csv.gz";
  const Trace trace = read_trace(data_file(file));
  const std::string content = encode_trace(trace);
  CHECK(content.size() < data(file).size());
  CHECK(parse_trace(content, "FILE") == as_forebay(trace));
}

TEST_CASE("a file that was cut off anywhere is refused in one line") {
  const std::string whole = encode_trace(example());
  for (std::size_t length = 4; length < whole.size(); ++length) {
    const std::string line = complaint(whole.substr(0, length));
    INFO(length << ": " << line);
    CHECK(line.find(length < kHeaderBytes
                        ? "of its header; it was cut off"
                        : "bytes of events; it was cut off") != std::string::npos);
  }
  CHECK(complaint(whole + "x") == "FILE: 1 bytes follow the end of the trace; nothing may");
}

TEST_CASE("no bit of a file can change unseen") {
  const std::string whole = encode_trace(example());
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    const std::string line = complaint(damaged);
    INFO(bit);
    CHECK(line.find("FILE: ") == 0);
    CHECK(line.find('\n') == std::string::npos);
  }
}

TEST_CASE("a newer version is called one, and a copy as text a copy as text") {
  std::string newer = encode_trace(example());
  newer[8] = 2;
  CHECK(complaint(newer) == "FILE: version 2 of forebay.trace; version 1 is allowed");
  std::string text = encode_trace(example());
  text.erase(4, 1);  // the carriage return
  CHECK(complaint(text).find("was it copied as text?") != std::string::npos);
}

TEST_CASE("checksums that hold make no nonsense valid") {
  const Trace trace = example();
  const std::string payload = trace_payload(trace);
  const auto wrong = [&](const TraceCounts& counts, const std::string& bytes) {
    return complaint(seal_trace(counts, bytes));
  };
  CHECK(wrong({4, 0, 2, 0}, payload).empty());
  CHECK(wrong({5, 0, 2, 0}, payload).find("end too early") != std::string::npos);
  CHECK(wrong({3, 0, 2, 0}, payload).find("bytes are left") != std::string::npos);
  CHECK(wrong({4, 0, 1, 0}, payload).find("FILE: ") == 0);
  CHECK(wrong({4, 5, 2, 0}, payload).find("sizes in the header") != std::string::npos);
  CHECK(wrong({4, 3, 2, 0}, payload).find("not all of the events were allocs") !=
        std::string::npos);
  CHECK(wrong({0, 0, 2, 0}, payload.substr(0, 2)) ==
        "FILE: 0 events; a trace has at least one alloc");
  CHECK(wrong({50, 0, 2, 0}, payload).find("sizes in the header") != std::string::npos);
  CHECK(wrong({UINT64_MAX, 0, 2, 0}, payload).find("sizes in the header") != std::string::npos);
  const auto event = [&](const std::string& bytes) {
    return wrong({1, 0, 1, 0}, std::string(1, '\0') + bytes);
  };
  using namespace std::string_literals;
  CHECK(event("\x20\x00\x00\x05"s).empty());
  CHECK(event("\x23\x00\x00\x05"s).find("action 3") != std::string::npos);
  CHECK(event("\x21\x00\x00\x05"s).find("names a block that no alloc") != std::string::npos);
  CHECK(event("\x20\x00\x01\x05"s).find("stream 1 of 1") != std::string::npos);
  CHECK(event("\xC0\x00\x00\x05"s).find("alignment") != std::string::npos);
  CHECK(event("\x20\x00\x00"s).find("end too early") != std::string::npos);
  CHECK(event("\x20\x00\x00\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02"s).find("longer than 64") !=
        std::string::npos);
  CHECK(event("\x20\x00\x00\x81\x80\x80\x80\x80\x80\x80\x01"s).find("2^48") != std::string::npos);
}
