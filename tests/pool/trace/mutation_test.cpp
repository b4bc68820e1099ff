// Damaged inputs of every format: each is a trace, or one line.
#include <random>

#include "pool/trace/forebay_format.hpp"
#include "tests/pool/effort.hpp"
#include "tests/pool/trace/samples.hpp"

using namespace forebay::pool;
using namespace forebay::pool::test;

namespace {

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t end) {
  return end == 0 ? 0 : static_cast<std::size_t>(random() % end);
}

/// Flips, a cut, or a piece of the other text put somewhere.
std::string mutated(std::string text, const std::string& other, Random& random) {
  switch (random() % 4) {
    case 0:
      for (std::size_t n = 1 + below(random, 8); n > 0 && !text.empty(); --n) {
        text[below(random, text.size())] = static_cast<char>(random());
      }
      break;
    case 1:
      for (std::size_t n = 1 + below(random, 3); n > 0 && !text.empty(); --n) {
        char& byte = text[below(random, text.size())];
        byte = static_cast<char>(byte ^ 1 << random() % 8);
      }
      break;
    case 2:
      text.resize(below(random, text.size() + 1));
      break;
    default: {
      const std::size_t from = below(random, other.size());
      const std::string piece = other.substr(from, below(random, 64));
      const std::size_t at = below(random, text.size());
      text.replace(at, below(random, 64), piece);
    }
  }
  return text;
}

/// One for a trace, none for a line.
std::size_t reads(const std::string& content) {
  TraceOptions options;
  options.max_bytes = std::size_t{16} << 20;
  try {
    const Trace trace = parse_trace(content, "FILE", options);
    REQUIRE(!trace.events.empty());
    return 1;
  } catch (const forebay::TraceError& error) {
    const std::string line = error.what();
    REQUIRE(line.find('\n') == std::string::npos);
    REQUIRE(line.find("FILE: ") == 0);
    return 0;
  }
}

}  // namespace

TEST_CASE("every damaged sample is a trace or one line") {
  Random random(20261130);
  const std::vector<std::string> all = samples();
  std::size_t traces = 0, lines = 0;
  for (const std::string& sample : all) {
    for (int i = 0; i < by_build(1500, 500, 150); ++i) {
      const std::string& other = all[below(random, all.size())];
      std::string content = mutated(sample, other, random);
      if (i % 3 == 0) content = mutated(content, other, random);
      (reads(content) == 1 ? traces : lines) += 1;
    }
  }
  // Both ends are reached, so the mutations are neither harmless nor hopeless.
  CHECK(traces > by_build(300U, 100U, 30U));
  CHECK(lines > by_build(2000U, 700U, 200U));
}

TEST_CASE("damaged gzip and damaged files of our own are one line") {
  Random random(7);
  const std::string gz = data("traces/streams_pipeline.csv.gz");
  const std::string ours = encode_trace(parse_trace(gz, "FILE"));
  for (int i = 0; i < by_build(300, 100, 30); ++i) {
    static_cast<void>(reads(mutated(gz, ours, random)));
    static_cast<void>(reads(mutated(ours, gz, random)));
  }
}

TEST_CASE("damaged events of our own format, with checksums that hold, are a trace or one line") {
  Random random(11);
  std::size_t traces = 0;
  for (const std::string& sample : samples()) {
    const Trace trace = parse_trace(sample, "FILE");
    const std::string payload = trace_payload(trace);
    for (int i = 0; i < by_build(400, 150, 40); ++i) {
      TraceCounts counts{trace.events.size(), trace.prologue, trace.streams.size(), 0};
      if (i % 4 == 0) counts.events = below(random, 2 * trace.events.size());
      if (i % 7 == 0) counts.streams = below(random, 10);
      traces += reads(seal_trace(counts, mutated(payload, payload, random)));
    }
  }
  CHECK(traces > by_build(20U, 7U, 2U));
}
