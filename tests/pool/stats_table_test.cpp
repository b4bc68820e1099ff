#include "pool/stats_table.hpp"

#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "pool/units.hpp"
#include "tests/pool/world.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/table_sums.hpp"

using namespace forebay::pool;
using forebay::pool::test::busy_stats;
using forebay::pool::test::World;
using forebay::test::check_sums;
using forebay::test::has_token;

namespace {

/// Gives each value of a struct one that no other has, and keeps the forms in which it may stand in
/// a table, by path.
class Numbering {
 public:
  std::map<std::string, std::vector<std::string>> forms;

  void number(const std::string& path, Count& value) {
    value = 1'000'000'007 + 1'000'003 * ++last_;
    std::array<char, 32> hex{};
    std::snprintf(hex.data(), hex.size(), "0x%llx", static_cast<unsigned long long>(value));
    forms[path] = {std::to_string(value)};
    if (path.ends_with("address")) forms[path].emplace_back(hex.data());
  }
  void number(const std::string& path, double& value) {
    value = static_cast<double>(++last_) / 1000;
    std::array<char, 32> share{}, seconds{};
    std::snprintf(share.data(), share.size(), "%.1f %%", 100 * value);
    std::snprintf(seconds.data(), seconds.size(), "%.3f", value);
    forms[path] = {share.data(), seconds.data()};
  }
  void number(const std::string& path, std::string& value) {
    value = "word" + std::to_string(++last_);
    forms[path] = {value};
  }
  template <typename Value>
  void number(const std::string& path, std::map<std::uint64_t, Value>& of) {
    for (const std::uint64_t key : {20, 22}) number(path + "." + std::to_string(key), of[key]);
  }
  template <typename Element>
  void number(const std::string& path, std::vector<Element>& of) {
    of.resize(2);
    number(path + ".0", of[0]);
    number(path + ".1", of[1]);
  }
  template <typename Struct>
  requires std::is_class_v<Struct>
  void number(const std::string& path, Struct& of) {
    Struct::each_field(
        [&](const char* name, Merge, auto& field) { number(path + "." + name, field); }, of);
  }

 private:
  Count last_ = 0;
};

std::string without_a_place(const Numbering& numbering, const std::string& table) {
  std::string lacking;
  for (const auto& [path, forms] : numbering.forms) {
    bool found = false;
    for (const std::string& form : forms) found |= has_token(table, form);
    if (!found) lacking += path + " ";
  }
  return lacking;
}

}  // namespace

TEST_CASE("every value of a pool's statistics has its place in the table") {
  PoolStats stats;
  Numbering numbering;
  numbering.number("", stats);
  CHECK(numbering.forms.size() > 180);
  const std::string table = to_table(stats);
  INFO(table);
  CHECK(without_a_place(numbering, table) == "");
}

TEST_CASE("what only a newer program knows of a pool has its place in the table, too") {
  const PoolStats stats = busy_stats(0);
  Entry entries = entries_of(stats);
  entries.find("locks")->parts.push_back({"cellar", {}, {{"count", Count{4711}, {}}}});
  entries.parts.push_back({"weather", {}, {{"rain_us", Count{815'000}, {}}}});
  const std::string table = to_table(entries, stats);
  CHECK(has_token(table, "cellar"));
  CHECK(has_token(table, "4711"));
  CHECK(table.find("weather") != std::string::npos);
  CHECK(table.find("815000 (815.0 ms)") != std::string::npos);
}

TEST_CASE("the lines of the table add up") {
  const bool with_map = GENERATE(false, true);
  const std::string table = to_table(busy_stats(with_map ? 1000 : 0));
  INFO(table);
  const forebay::test::TableSums sums = check_sums(table);
  CHECK(sums.wrong == "");
  CHECK(sums.checked == (with_map ? 35 : 30));
  CHECK((table.find("map: nothing listed") == std::string::npos) == with_map);
}

TEST_CASE("a pool that did nothing is told in few lines, none of which is left out") {
  World world;
  const std::string table = to_table(world.pool.stats());
  for (const char* line :
       {"\nmisuse: all 0 (double_free, interior_pointer, foreign_pointer, size_mismatch, ",
        "\nwaits for locks: all 0 (engine, growth, all; count time us)\n",
        "\nmemory by stream: nothing listed\n", "\nmap: nothing listed\n",
        "\nserved by: all 0 (cache, completed, map, steal, remap, trim, callback, wait, "}) {
    INFO(line);
    CHECK(table.find(line) != std::string::npos);
  }
}

TEST_CASE("the table says when peaks were reached") {
  PoolStats stats = busy_stats(0);
  stats.held.peak_at_s = 12345.678;
  const std::string table = to_table(stats);
  CHECK(table.find(" at s ") != std::string::npos);
  CHECK(has_token(table, "12345.678"));
}

TEST_CASE("words of a document move no cursor") {
  PoolStats stats;
  stats.map.push_back({0, 1, "\033[2J", "sp\nan", 0, 0, 0});
  const std::string table = to_table(stats);
  CHECK(table.find('\033') == std::string::npos);
  CHECK(table.find("sp?an") != std::string::npos);
}
