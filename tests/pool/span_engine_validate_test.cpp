// Every kind of lie that an engine could tell is found, and named.
#include <functional>
#include <string>

#include "forebay/pool/pool.hpp"
#include "pool/span_engine.hpp"
#include "tests/support/catch.hpp"

using namespace forebay::pool;

namespace {

constexpr Address kBrokenBase = 0x10000000;

// An island of used, everybody's, used, owner 1's, used and hole, in that order.
struct Island {
  Island() {
    engine.open_owner(1);
    const ExtentId whole = engine.add_island(kBrokenBase, 6 * 8 * kSpanUnit, true);
    const ExtentId last = engine.take_hole(whole, kBrokenBase, 5 * 8 * kSpanUnit);
    ids[0] = last;
    for (int i = 1; i < 5; ++i) ids[i] = engine.split(ids[i - 1], 8 * kSpanUnit);
    ids[5] = whole;
    ids[1] = engine.free(ids[1], {kEverybody, 0});
    ids[3] = engine.free(ids[3], {1, 7});
  }
  SpanEngine engine;
  ExtentId ids[6] = {};
};

std::string told(const std::function<void(SpanEngine&, const ExtentId*)>& lie) {
  Island island;
  REQUIRE(island.engine.validate() == "");
  lie(island.engine, island.ids);
  return island.engine.validate();
}

bool says(const std::string& text, const char* what) {
  INFO(text);
  return text.find(what) != std::string::npos;
}

}  // namespace

TEST_CASE("an island that its extents do not tile is found") {
  CHECK(says(told([](SpanEngine& e, const ExtentId* id) { e.at(id[2]).bytes = 0; }), "is empty"));
  CHECK(says(told([](SpanEngine& e, const ExtentId* id) { e.at(id[2]).bytes += 1; }),
             "no multiple of 512"));
  CHECK(says(told([](SpanEngine& e, const ExtentId* id) { e.at(id[2]).bytes += kSpanUnit; }),
             "does not touch its successor"));
  CHECK(says(told([](SpanEngine& e, const ExtentId* id) { e.at(id[3]).previous = id[1]; }),
             "not its successor's predecessor"));
  CHECK(says(told([](SpanEngine& e, const ExtentId* id) { e.at(id[0]).previous = id[1]; }),
             "has a predecessor"));
}

TEST_CASE("neighbours that should have been joined are found") {
  CHECK(says(told([](SpanEngine& e, const ExtentId* id) { e.at(id[4]).state = ExtentState::hole; }),
             "hole beside a hole"));
  CHECK(says(told([](SpanEngine& e, const ExtentId* id) { e.at(id[2]).state = ExtentState::free; }),
             "free beside a free range of the same stamp"));
}

TEST_CASE("a range in the wrong books is found") {
  CHECK(says(told([](SpanEngine& e, const ExtentId* id) { e.at(id[3]).stamp.owner = 9; }),
             "unknown owner"));
  CHECK(says(told([](SpanEngine& e, const ExtentId* id) { e.at(id[1]).state = ExtentState::used; }),
             "counts differ"));
  CHECK(says(told([](SpanEngine& e, const ExtentId* id) { e.at(id[1]).bin_previous = id[3]; }),
             "wrong bin"));
  CHECK(says(told([](SpanEngine& e, const ExtentId* id) { e.at(id[3]).queue_previous = id[1]; }),
             "wrong queue"));
}
