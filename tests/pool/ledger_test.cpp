#include "pool/ledger.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/table_sums.hpp"

using namespace forebay::pool;

namespace {

Entry leaf(const char* name, Count value) { return {name, value, {}}; }

Entry household() {
  return {"",
          {},
          {{"rent", {}, {leaf("now", 1500), leaf("us", 2500)}},
           {"food", {}, {leaf("now", 300), leaf("us", 0)}},
           leaf("all", 1900),
           {"rooms",
            {},
            {{"0", {}, {leaf("id", 7), leaf("width", 3), leaf("length", 4)}},
             {"1", {}, {leaf("id", 9), leaf("width", 2), leaf("length", 5)}}}},
           {"note", std::string("none"), {}},
           {"share", 0.25, {}}}};
}

}  // namespace

TEST_CASE("an entry is found by its path, and what is not there is not") {
  Entry root = household();
  CHECK(std::get<Count>(root.find("food.now")->value) == 300);
  CHECK(root.find("rooms.1.id") != nullptr);
  CHECK(root.find("food")->is_group());
  CHECK(root.find("food.later") == nullptr);
  CHECK(root.find("note.x") == nullptr);
  CHECK(root.find("") == nullptr);
}

TEST_CASE("a table aligns its columns and says in words what is large") {
  Entry root = household();
  const std::string table =
      lay_out(root, {"house",
                     {{"bytes", "now", Unit::bytes}, {"time us", "us", Unit::us}},
                     {{' ', "the rent", "rent"},
                      {'+', "food", "food"},
                      {'+', "other", "rest"},
                      {'=', "all", "all|+"}}});
  CHECK(table ==
        "house       bytes            time us\n"
        "  the rent   1500 (1.5 KiB)     2500 (2.5 ms)\n"
        "+ food        300                  0\n"
        "+ other       100                  -\n"
        "= all        1900 (1.9 KiB)     2500 (2.5 ms)\n\n");
  CHECK(root.find("rent.us")->shown);
  CHECK_FALSE(root.find("share")->shown);
  CHECK(forebay::test::check_sums(table).wrong.empty());
}

TEST_CASE("every part of a group has a line, with products and sums over it") {
  Entry root = household();
  const std::string table = lay_out(root, {"rooms",
                                           {{"width", "width"}, {"area", "width*length"}},
                                           {{'+', "", "rooms.#id"}, {'=', "all", "+|+"}}});
  CHECK(table ==
        "rooms  width  area\n"
        "+ 7        3    12\n"
        "+ 9        2    10\n"
        "= all      5    22\n\n");
  CHECK(lay_out(root, {"sum", {{"width", ""}}, {{' ', "all", "+rooms.width"}}}) ==
        "sum    width\n"
        "  all      5\n\n");
}

TEST_CASE("a table of zeros is one line that names them, and one of nothing says so") {
  Entry root{"", {}, {{"errors", {}, {leaf("one", 0), leaf("two", 0)}}, {"list", {}, {}}}};
  const Section errors{"misuse", {{"count", ""}}, {{'+', "", "errors.#"}, {'=', "all", "+"}}};
  CHECK(lay_out(root, errors) == "misuse: all 0 (one, two, all)\n\n");
  CHECK(root.find("errors.two")->shown);
  root.find("errors.two")->value = Count{1};
  CHECK(lay_out(root, errors).find("+ two       1\n") != std::string::npos);
  CHECK(lay_out(root, {"list", {{"count", ""}}, {{'+', "", "list.#"}, {'=', "all", "+"}}}) ==
        "list: nothing listed\n\n");
  CHECK(lay_out(root, {"list", {{"count", ""}}, {{'+', "", "none.#"}, {'=', "all", "+"}}}) ==
        "list: nothing listed\n\n");
}

TEST_CASE("what no table has shown stands at the end, once") {
  Entry root = household();
  (void)lay_out(root, {"house", {{"", "now"}}, {{' ', "rent", "rent"}, {' ', "food", "food"}}});
  CHECK(lay_out_rest(root, "alone") ==
        "alone    value\n"
        "  all     1900\n"
        "  note    none\n"
        "  share   0.25\n\n"
        "rent  value\n"
        "  us   2500 (2.5 ms)\n\n"
        "food: all 0 (us)\n\n"
        "rooms       value\n"
        "  0.id          7\n"
        "  0.width       3\n"
        "  0.length      4\n"
        "  1.id          9\n"
        "  1.width       2\n"
        "  1.length      5\n\n");
  CHECK(lay_out_rest(root, "alone").empty());
}

TEST_CASE("each unit has its form, and notes stand below their line") {
  Entry root{"",
             {},
             {leaf("n", 5'000'000'000),
              {"s", 1.5, {}},
              {"list",
               {},
               {{"0",
                 {},
                 {{"tag", std::string("w"), {}},
                  leaf("bytes", 3),
                  {"site", {}, {{"0", std::string("f()"), {}}}}}}}}}};
  const auto one = [&](Unit unit, const char* place) {
    return forebay::test::parts_of(lay_out(root, {"t", {{"v", "", unit}}, {{' ', "l", place}}}))
        .back();
  };
  CHECK(one(Unit::bytes, "n") == "5000000000 (4.7 GiB)\n\n");
  CHECK(one(Unit::us, "n") == "5000000000 (5000.0 s)\n\n");
  CHECK(one(Unit::ns, "n") == "5000000000 (5.0 s)\n\n");
  CHECK(one(Unit::plain, "n") == "5000000000\n\n");
  CHECK(one(Unit::address, "n") == "0x12a05f200\n\n");
  CHECK(one(Unit::seconds, "s") == "1.500\n\n");
  CHECK(one(Unit::share, "s") == "150.0 %\n\n");
  CHECK(lay_out(root,
                {"live", {{"bytes", "bytes"}}, {{'+', "", "list.#tag"}}, Unit::plain, "site"}) ==
        "live  bytes\n"
        "+ w       3\n"
        "      at f()\n\n");
  Entry sizes{"", {}, {{"h", {}, {leaf("20", 4)}}}};
  CHECK(lay_out(sizes, {"h", {{"n", ""}}, {{'+', "", "h.#"}}, Unit::log2}) ==
        "h                 n\n"
        "+ 2^20 (1.0 MiB)  4\n\n");
}
