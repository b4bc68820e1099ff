// A pool that records, and replays of what it recorded.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>

#include "forebay/pool/replay.hpp"
#include "tests/pool/timeless.hpp"
#include "tests/pool/trace/samples.hpp"
#include "tests/pool/world.hpp"

using namespace forebay;
using namespace forebay::pool;
using namespace forebay::pool::test;

namespace {

World recording(std::size_t ring_bytes, bool immediate = true) {
  World::Config config;
  config.immediate = immediate;
  config.trace_ring_bytes = ring_bytes;
  return World(config);
}

/// Random work on four streams, with uses across them and alignments.
void work(Pool& pool, std::uint64_t seed, int operations) {
  struct Block {
    void* pointer;
    StreamId stream;
  };
  std::mt19937_64 random(seed);
  std::vector<Block> live;
  for (int i = 0; i < operations; ++i) {
    if (live.size() < 50 || random() % 2 == 0) {
      const StreamId stream = 1 + random() % 4;
      const std::size_t bytes = 1 + random() % (std::size_t{1} << random() % 22);
      AllocateOptions options;
      options.alignment = std::size_t{256} << random() % 5;
      live.push_back({pool.allocate(bytes, stream, options), stream});
    } else {
      Block& block = live[random() % live.size()];
      if (random() % 4 == 0) {
        CHECK(pool.record_use(block.pointer, 1 + random() % 4) == Misuse::none);
      }
      pool.deallocate(block.pointer, block.stream);
      block = live.back();
      live.pop_back();
    }
  }
}

/// The parts of statistics that neither clocks nor stream ids have a say in.
std::string counters(const Pool& pool) {
  PoolStats stats = timeless(pool.stats());
  stats.streams.clear();
  stats.host_metadata = 0;
  return to_json(stats);
}

std::string path_of(const char* name) {
  return "/tmp/forebay-record-" + std::to_string(::getpid()) + "-" + name;
}

}  // namespace

TEST_CASE("what a pool records replays to the same counters") {
  World world = recording(1 << 20);
  work(world.pool, 1, 5000);
  const Trace trace = world.pool.trace();
  CHECK(trace.prologue == 0);
  CHECK(trace.events.size() > 4000);

  World again = recording(0);
  Replay replay(trace, again.pool, {trace.streams.begin(), trace.streams.end()});
  CHECK(replay.pass().completed);
  CHECK(counters(again.pool) == counters(world.pool));
  CHECK(again.sound());
}

TEST_CASE("with a ring that is too short, the live set still comes out right") {
  World world = recording(64 * 32);
  work(world.pool, 2, 5000);
  const Trace trace = parse_trace(encode_trace(world.pool.trace()), "FILE");
  CHECK(trace.prologue > 0);
  World again = recording(0);
  Replay replay(trace, again.pool, {trace.streams.begin(), trace.streams.end()});
  CHECK(replay.pass().completed);
  CHECK(again.pool.stats().requested.current == world.pool.stats().requested.current);
  CHECK(again.pool.stats().allocations.live == world.pool.stats().allocations.live);
}

TEST_CASE("misuse leaves no mark in a trace") {
  World world = recording(1 << 20);
  void* block = world.pool.allocate(1000, 1);
  CHECK(world.pool.try_deallocate(block, 1, 999) == Misuse::size_mismatch);
  CHECK(world.pool.try_deallocate(static_cast<char*>(block) + 1, 1) == Misuse::interior_pointer);
  CHECK(world.pool.try_deallocate(block, 77) == Misuse::wrong_device);
  CHECK(world.pool.record_use(block, 77) == Misuse::wrong_device);
  world.pool.deallocate(block, 1);
  CHECK(world.pool.try_deallocate(block, 1) == Misuse::double_free);
  world.pool.deallocate(nullptr, 1);
  CHECK(world.pool.allocate(0, 1) == nullptr);
  CHECK_THROWS_AS(world.pool.allocate(std::size_t{1} << 40, 1), OutOfMemory);
  CHECK(world.pool.trace().events.size() == 2);
}

TEST_CASE("a pool that records nothing says which key would help") {
  World world = recording(0);
  work(world.pool, 3, 100);
  try {
    (void)world.pool.trace();
    FAIL("a trace of nothing");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("pool.trace.ring_bytes") != std::string::npos);
  }
}

TEST_CASE("a trace is written whole or not at all, after the end of the pool too") {
  World world = recording(1 << 20);
  work(world.pool, 4, 500);
  const Trace before = world.pool.trace();
  world.pool.close();
  const std::string file = path_of("written");
  world.pool.write_trace(file);
  CHECK(read_trace(file) == before);
  world.pool.write_trace(file);  // over the old one
  CHECK(read_trace(file) == before);
  const std::string link = path_of("link");
  REQUIRE(::symlink(file.c_str(), link.c_str()) == 0);
  std::ofstream(file) << "old";
  world.pool.write_trace(link);
  CHECK(std::filesystem::is_symlink(link));
  CHECK(read_trace(file) == before);
  std::remove(link.c_str());
  std::remove(file.c_str());

  // Not a device, which a mistake would take from everybody.
  const std::string pipe = path_of("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const int end = ::open(pipe.c_str(), O_RDWR | O_NONBLOCK);
  world.pool.write_trace(pipe);
  CHECK(std::filesystem::is_fifo(pipe));
  std::string content(1 << 16, '\0');
  const ssize_t length = ::read(end, content.data(), content.size());
  REQUIRE(length > 0);
  CHECK(parse_trace(content.substr(0, static_cast<std::size_t>(length)), "FILE") == before);
  ::close(end);
  std::remove(pipe.c_str());
  try {
    world.pool.write_trace("/nowhere/trace");
    FAIL("it was written");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("'/nowhere/trace'") != std::string::npos);
  }
}
