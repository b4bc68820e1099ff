// The page on statistics names exactly the keys that a dump has.
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "forebay/runtime/runtime.hpp"
#include "tests/support/catch.hpp"

using nlohmann::json;
using Keys = std::set<std::string>;

namespace {

// Splits a Markdown table's row into its cells.
std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> result;
  std::string cell;
  std::istringstream text(line);
  std::getline(text, cell, '|');
  while (std::getline(text, cell, '|')) result.push_back(cell);
  return result;
}

std::vector<std::string> quoted(const std::string& cell) {
  static const std::regex code("`([^`]+)`");
  std::vector<std::string> result;
  for (std::sregex_iterator i(cell.begin(), cell.end(), code), end; i != end; ++i) {
    result.push_back((*i)[1]);
  }
  return result;
}

// Each row that begins with a quoted key, with all of its cells.
std::vector<std::vector<std::string>> rows(const std::string& page) {
  std::ifstream file(std::string(FOREBAY_SOURCE_DIR) + "/docs/" + page);
  REQUIRE(file);
  std::vector<std::vector<std::string>> result;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("| `", 0) == 0) result.push_back(cells(line));
  }
  REQUIRE_FALSE(result.empty());
  return result;
}

std::string missing_from(const Keys& whole, const Keys& part) {
  std::string result;
  for (const std::string& key : part) {
    if (whole.count(key) == 0) result += key + " ";
  }
  return result;
}

// Leaves of a dump: "pool.held.peak", "pool.streams[].id", "free_below.*" where the key is a
// number.
void collect_dump(const json& value, const std::string& path, Keys& to) {
  if (value.is_object()) {
    for (const auto& [name, inner] : value.items()) {
      const bool number = std::all_of(name.begin(), name.end(), ::isdigit);
      collect_dump(inner, path + (path.empty() ? "" : ".") + (number ? "*" : name), to);
    }
  } else if (value.is_array()) {
    for (const json& inner : value) collect_dump(inner, path + "[]", to);
  } else {
    to.insert(path);
  }
}

}  // namespace

TEST_CASE("docs/statistics.md lists every key of a dump") {
  forebay::Config config;
  config.pool.leak_stacks = forebay::pool::StackMode::all;  // so that `site` has something
  forebay::Runtime runtime = forebay::Runtime::create(config);
  forebay::Device& device = runtime.device("host");
  forebay::pool::Pool pool = device.pool();
  const forebay::pool::StreamId stream = device.default_stream().id();
  // One block each from slab, buddy and span engine, and a free one between two that are not.
  std::vector<void*> blocks;
  for (const std::size_t bytes : {1000, 200'000, 5'000'000, 7'000'000, 5'000'000}) {
    blocks.push_back(pool.allocate(bytes, stream));
  }
  pool.deallocate(std::exchange(blocks[3], nullptr), stream);
  json dump = json::parse(device.stats_json(forebay::StatsDetail::everything));
  dump["config"] = "see the page on configuration";
  for (void* block : blocks) pool.deallocate(block, stream);
  Keys known;
  collect_dump(dump, "", known);

  Keys listed;
  for (const std::vector<std::string>& row : rows("statistics.md")) {
    REQUIRE(row.size() >= 2);
    const std::vector<std::string> leaves = quoted(row[1]);
    for (const std::string& path : quoted(row[0])) {
      if (leaves.empty()) listed.insert(path);
      for (const std::string& leaf : leaves) listed.insert(path + "." + leaf);
    }
  }
  CHECK(missing_from(listed, known) == "");
  CHECK(missing_from(known, listed) == "");
}
