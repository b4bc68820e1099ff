// A tree of statistics as text: tables whose lines add up, and a place for whatever has none.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "forebay/pool/stats.hpp"

namespace forebay::pool {

/// A value of statistics, or a group of them. Texts and names are printed as they are.
struct Entry {
  std::string name;
  std::variant<std::monostate, Count, double, std::string> value;  ///< nothing: a group
  std::vector<Entry> parts;
  bool shown = false;  ///< some table has printed it

  [[nodiscard]] bool is_group() const noexcept { return value.index() == 0; }
  /// What stands at a path ("held.current") below this entry; null if nothing does.
  [[nodiscard]] Entry* find(std::string_view path) noexcept;
};

/// How a value is printed. Bytes and times have a second form in parentheses that people read.
enum class Unit : std::uint8_t { plain, bytes, us, ns, seconds, share, percent, log2, address };

struct Column {
  const char* head;
  const char* key;  ///< of the value below the line's place; "a*b" is the product of two
  Unit unit = Unit::plain;
};

/// `sign`: ' ' begins a sum, '+' adds to it, '=' is what it comes to. `place`: where the values
/// lie.
///   "held"             the column's keys below it; a value that is no group is the first column's
///   "driver.#"         a line for each part of `driver`, by its name
///   "streams.#id"      a line for each part of `streams`, by its `id`
///   "a.b|c|"           a place of its own for each column; an empty one stays empty
/// and of such places of their own
///   "+"                the sum so far in this column
///   "+streams.pending" the sum of `pending` over all parts of `streams`
///   "rest"             what the first column's sum so far lacks of the next line with '='
struct Line {
  char sign;
  const char* label;
  const char* place;
};

/// A table. One whose values are all 0 becomes one line that names them.
struct Section {
  const char* title;
  std::vector<Column> columns;
  std::vector<Line> lines;
  Unit labels = Unit::plain;  ///< of the lines that "#" makes
  const char* notes = "";     ///< a list of texts in each part that stand below its line
};

/// The table, which ends with an empty line. Marks what it prints as shown.
[[nodiscard]] std::string lay_out(Entry& root, const Section& section);

/// What no table has shown yet: a table for the values that stand alone, under `title`, and one for
/// each group of them.
[[nodiscard]] std::string lay_out_rest(Entry& root, const char* title);

}  // namespace forebay::pool
