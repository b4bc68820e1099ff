#include "runtime/host/host_timeline.hpp"

#include <set>
#include <thread>
#include <vector>

#include "tests/support/catch.hpp"

using namespace forebay;
using host::HostTimeline;

TEST_CASE("The host knows its streams and no others") {
  HostTimeline timeline;
  const auto first = timeline.add_stream();
  const auto second = timeline.add_stream();
  CHECK(first != second);
  CHECK(timeline.knows(first));
  CHECK(timeline.knows(second));
  CHECK_FALSE(timeline.knows(second + 1));
  // Ids as a driver gives them.
  for (pool::StreamId other : {0, 1, 7, 1000}) CHECK_FALSE(timeline.knows(other));
}

TEST_CASE("Every point of a known stream has passed, and nothing is ever captured") {
  HostTimeline timeline;
  const auto first = timeline.add_stream();
  const auto second = timeline.add_stream();
  CHECK_FALSE(timeline.capturing(first));
  CHECK(timeline.record(first, 1));
  CHECK(timeline.passed(first, 1));
  CHECK(timeline.wait(second, first, 1));
  CHECK(timeline.synchronize(first, 1));
  timeline.forget(first, 1);
  CHECK(timeline.record(first, 2));
}

TEST_CASE("Calls about an unknown stream fail") {
  HostTimeline timeline;
  const auto stream = timeline.add_stream();
  CHECK_FALSE(timeline.record(7, 1));
  CHECK_FALSE(timeline.passed(7, 1));
  CHECK_FALSE(timeline.wait(7, stream, 1));
  CHECK_FALSE(timeline.wait(stream, 7, 1));
  CHECK_FALSE(timeline.synchronize(7, 1));
}

TEST_CASE("Streams made by several threads have ids of their own") {
  HostTimeline timeline;
  std::vector<std::vector<pool::StreamId>> made(4);
  std::vector<std::thread> threads;
  for (auto& mine : made) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) mine.push_back(timeline.add_stream());
    });
  }
  for (auto& thread : threads) thread.join();
  std::set<pool::StreamId> all;
  for (const auto& mine : made) all.insert(mine.begin(), mine.end());
  CHECK(all.size() == 4000);
}
