#include "pool/ledger.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <utility>

namespace forebay::pool {
namespace {

/// `people` is what the number says to them, where that is another text.
struct Cell {
  std::string exact = "-", people;
  std::optional<Count> count;
  bool zero = true;
};

struct Row {
  char sign;
  std::string label;
  std::vector<Cell> cells;
  std::vector<std::string> notes;
};

std::string decimal(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

/// In the largest of the units that leaves at least 1 of it; empty for less than one step.
std::string scaled(double value, double step, std::initializer_list<const char*> units) {
  if (value < step) return {};
  const char* name = "";
  for (const char* unit : units) {
    if (value < step) break;
    value /= step;
    name = unit;
  }
  return decimal("%.1f ", value) + name;
}

Cell cell_of(Count value, Unit unit) {
  Cell cell{std::to_string(value), {}, value, value == 0};
  const auto real = static_cast<double>(value);
  switch (unit) {
    case Unit::bytes:
      cell.people = scaled(real, 1024, {"KiB", "MiB", "GiB", "TiB"});
      break;
    case Unit::us:
      cell.people = scaled(real, 1000, {"ms", "s"});
      break;
    case Unit::ns:
      cell.people = scaled(real, 1000, {"us", "ms", "s"});
      break;
    case Unit::percent:
      cell.exact += " %";
      break;
    case Unit::share:
      cell.exact = decimal("%.1f %%", 100 * real);
      break;
    case Unit::seconds:
      cell.exact = decimal("%.3f", real);
      break;
    case Unit::log2:
      cell.exact = "2^" + cell.exact;
      if (value < 63) cell.people = cell_of(Count{1} << value, Unit::bytes).people;
      break;
    case Unit::address: {
      std::array<char, 32> text{};
      std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(value));
      cell.exact = text.data();
      break;
    }
    case Unit::plain:
      break;
  }
  return cell;
}

Cell cell_of(const Entry& entry, Unit unit) {
  if (const auto* count = std::get_if<Count>(&entry.value)) return cell_of(*count, unit);
  if (const auto* text = std::get_if<std::string>(&entry.value)) return {*text, {}, {}, false};
  const double value = std::get<double>(entry.value);
  const char* format = unit == Unit::seconds ? "%.3f" : "%.9g";
  return {unit == Unit::share ? decimal("%.1f %%", 100 * value) : decimal(format, value),
          {},
          {},
          value == 0};
}

Unit unit_by_name(std::string_view name) {
  if (name == "us" || name.ends_with("_us")) return Unit::us;
  if (name == "ns" || name.ends_with("_ns")) return Unit::ns;
  if (name.ends_with("_s")) return Unit::seconds;
  if (name == "bytes" || name.ends_with("_bytes")) return Unit::bytes;
  return Unit::plain;
}

// Printing ---------------------------------------------------------------------------------------

void pad(std::string& text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
}

void end_line(std::string& text) {
  text.resize(text.find_last_not_of(' ') + 1);
  text += '\n';
}

/// Longer texts stand out of their column.
constexpr std::size_t kWidestText = 24;

/// Columns two spaces apart, numbers right-aligned.
std::string print(const std::string& title, const std::vector<std::string>& heads,
                  const std::vector<Row>& rows) {
  std::size_t label = title.size();
  std::vector<std::size_t> exact(heads.size()), people(heads.size());
  for (std::size_t i = 0; i < heads.size(); ++i) exact[i] = heads[i].size();
  for (const Row& row : rows) {
    label = std::max(label, row.label.size() + 2);
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      exact[i] = std::max(exact[i], std::min(row.cells[i].exact.size(), kWidestText));
      people[i] = std::max(people[i], row.cells[i].people.size());
    }
  }
  std::string out;
  const auto add = [&](std::string text, const auto& column) {
    pad(text, label);
    for (std::size_t i = 0; i < heads.size(); ++i) {
      const auto [number, second] = column(i);
      text += "  " + std::string(exact[i] - std::min(exact[i], number.size()), ' ') + number;
      if (people[i] == 0) continue;
      std::string words = second.empty() ? "" : " (" + second + ")";
      pad(words, people[i] + 3);
      text += words;
    }
    end_line(text);
    out += text;
  };
  add(title, [&](std::size_t i) { return std::pair(heads[i], std::string()); });
  for (const Row& row : rows) {
    add(std::string(1, row.sign) + " " + row.label,
        [&](std::size_t i) { return std::pair(row.cells[i].exact, row.cells[i].people); });
    for (const std::string& note : row.notes) out += "      " + note + "\n";
  }
  return out + "\n";
}

/// One line instead of a table of zeros.
std::string print_zeros(const std::string& title, const std::vector<std::string>& heads,
                        const std::vector<Row>& rows) {
  std::string text = title + ": all 0 (";
  for (const Row& row : rows) text += (&row == &rows.front() ? "" : ", ") + row.label;
  if (heads.size() > 1) {
    text += ";";
    for (const std::string& head : heads) text += " " + head;
  }
  return text + ")\n\n";
}

bool all_zero(const std::vector<Row>& rows) {
  return std::all_of(rows.begin(), rows.end(), [](const Row& row) {
    return std::all_of(row.cells.begin(), row.cells.end(), [](const Cell& c) { return c.zero; });
  });
}

// Filling ----------------------------------------------------------------------------------------

class Filler {
 public:
  Filler(Entry& root, const Section& section)
      : root_(root), section_(section), sums_(section.columns.size()) {}

  std::string run() {
    std::vector<std::string> heads;
    for (const Column& column : section_.columns) heads.emplace_back(column.head);
    bool lists = false;
    for (std::size_t i = 0; i < section_.lines.size(); ++i) {
      const Line& line = section_.lines[i];
      const std::vector<std::string> places = places_of(line);
      if (places.front().find('#') != std::string::npos) {
        lists = true;
        expand(line, places);
      } else {
        one(line, places, i);
      }
    }
    const std::string title = section_.title;
    if (rows_.empty() || (lists && !listed_)) return title + ": nothing listed\n\n";
    return all_zero(rows_) ? print_zeros(title, heads, rows_) : print(title, heads, rows_);
  }

 private:
  std::vector<std::string> places_of(const Line& line) const {
    const std::string_view place = line.place;
    std::vector<std::string> places;
    if (place == "rest") {
      places.assign(section_.columns.size(), "");
      places.front() = place;
    } else if (place.find('|') != std::string_view::npos || place.front() == '+') {
      std::size_t begin = 0;
      for (std::size_t i = 0; i < section_.columns.size(); ++i) {
        const std::size_t end = std::min(place.find('|', begin), place.size());
        places.emplace_back(place.substr(begin, end - begin));
        begin = std::min(end + 1, place.size());
      }
    } else {
      for (const Column& column : section_.columns) {
        places.push_back(std::string(place) + (*column.key == 0 ? "" : ".") + column.key);
      }
    }
    return places;
  }

  void one(const Line& line, const std::vector<std::string>& places, std::size_t index) {
    std::vector<Cell> cells(section_.columns.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string& place = places[i];
      if (place == "rest") {
        cells[i] = cell_of(rest(index), section_.columns[i].unit);
      } else if (place == "+") {
        cells[i] = cell_of(sums_[i], section_.columns[i].unit);
      } else if (place.starts_with('+')) {
        cells[i] = cell_of(sum_over(place.substr(1)), section_.columns[i].unit);
      } else if (!place.empty()) {
        Entry* entry = root_.find(place);
        if (entry == nullptr && i == 0) entry = root_.find(line.place);
        cells[i] = value(entry, section_.columns[i].unit);
      }
    }
    // What an older document lacks is no line.
    const bool any =
        std::any_of(cells.begin(), cells.end(), [](const Cell& c) { return c.exact != "-"; });
    if (any) add(line.sign, line.label, std::move(cells), {});
  }

  // A line for each part of the group that the first place names.
  void expand(const Line& line, const std::vector<std::string>& places) {
    const std::size_t hash = places.front().find('#');
    const std::string group = places.front().substr(0, hash - 1);
    Entry* parts = root_.find(group);
    if (parts == nullptr) return;
    for (Entry& part : parts->parts) {
      std::vector<Cell> cells(section_.columns.size());
      std::string label = part.name;
      bool any = false;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::size_t at = places[i].find('#');
        if (at == std::string::npos) continue;
        const std::string below = places[i].substr(at + 1);
        const std::size_t dot = std::min(below.find('.'), below.size());
        const std::string key = below.substr(0, dot), path = below.substr(dot);
        Entry* of = &part;
        if (places[i].substr(0, at - 1) != group) {
          of = root_.find(places[i].substr(0, at - 1));
          if (of != nullptr) of = of->find(part.name);
        }
        if (of == nullptr) continue;
        if (i == 0) label = label_of(part, key);
        cells[i] = below_of(*of, path.empty() ? path : path.substr(1), section_.columns[i].unit);
        any |= cells[i].exact != "-";
      }
      if (any) add(line.sign, std::move(label), std::move(cells), notes_of(part));
      listed_ |= any;
    }
  }

  std::string label_of(Entry& part, const std::string& key) const {
    Entry* named = key.empty() ? nullptr : part.find(key);
    if (named != nullptr && !named->is_group()) {
      named->shown = true;
      const Cell cell = cell_of(*named, section_.labels);
      return cell.people.empty() ? cell.exact : cell.exact + " (" + cell.people + ")";
    }
    if (section_.labels == Unit::plain) return part.name;
    const Cell cell = cell_of(std::strtoull(part.name.c_str(), nullptr, 10), section_.labels);
    return cell.people.empty() ? cell.exact : cell.exact + " (" + cell.people + ")";
  }

  std::vector<std::string> notes_of(Entry& part) const {
    std::vector<std::string> notes;
    Entry* list = *section_.notes == 0 ? nullptr : part.find(section_.notes);
    if (list == nullptr) return notes;
    for (Entry& note : list->parts) {
      if (note.is_group()) continue;
      note.shown = true;
      notes.push_back("at " + cell_of(note, Unit::plain).exact);
    }
    return notes;
  }

  Cell below_of(Entry& of, const std::string& path, Unit unit) const {
    const std::size_t times = path.find('*');
    if (times == std::string::npos) return value(path.empty() ? &of : of.find(path), unit);
    const Cell left = value(of.find(path.substr(0, times)), unit);
    const Cell right = value(of.find(path.substr(times + 1)), unit);
    if (!left.count || !right.count) return {};
    return cell_of(*left.count * *right.count, unit);
  }

  static Cell value(Entry* entry, Unit unit) {
    if (entry == nullptr || entry->is_group()) return {};
    entry->shown = true;
    return cell_of(*entry, unit);
  }

  Count sum_over(const std::string& place) const {
    const std::size_t dot = place.find('.');
    Entry* group = root_.find(place.substr(0, dot));
    Count sum = 0;
    if (group == nullptr) return sum;
    for (Entry& part : group->parts) {
      const Entry* entry = part.find(place.substr(dot + 1));
      const auto* count = entry == nullptr ? nullptr : std::get_if<Count>(&entry->value);
      if (count != nullptr) sum += *count;
    }
    return sum;
  }

  Count rest(std::size_t index) const {
    Count whole = 0;
    for (std::size_t i = index + 1; i < section_.lines.size(); ++i) {
      if (section_.lines[i].sign != '=') continue;
      Entry* entry = root_.find(places_of(section_.lines[i]).front());
      if (entry == nullptr) entry = root_.find(section_.lines[i].place);
      if (entry != nullptr && std::holds_alternative<Count>(entry->value)) {
        whole = std::get<Count>(entry->value);
      }
      break;
    }
    return whole - std::min(whole, sums_.front());
  }

  void add(char sign, std::string label, std::vector<Cell> cells, std::vector<std::string> notes) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const Count count = cells[i].count.value_or(0);
      sums_[i] = sign == '+' ? sums_[i] + count : count;
    }
    rows_.push_back({sign, std::move(label), std::move(cells), std::move(notes)});
  }

  Entry& root_;
  const Section& section_;
  std::vector<Count> sums_;
  std::vector<Row> rows_;
  bool listed_ = false;
};

void collect(Entry& entry, const std::string& label, std::vector<Row>& rows) {
  if (entry.is_group()) {
    for (Entry& part : entry.parts) {
      collect(part, label.empty() ? part.name : label + "." + part.name, rows);
    }
  } else if (!entry.shown) {
    entry.shown = true;
    rows.push_back({' ', label, {cell_of(entry, unit_by_name(entry.name))}, {}});
  }
}

}  // namespace

Entry* Entry::find(std::string_view path) noexcept {
  const std::size_t dot = std::min(path.find('.'), path.size());
  const auto part = std::find_if(parts.begin(), parts.end(), [&](const Entry& entry) {
    return entry.name == path.substr(0, dot);
  });
  if (part == parts.end()) return nullptr;
  return dot == path.size() ? &*part : part->find(path.substr(dot + 1));
}

std::string lay_out(Entry& root, const Section& section) { return Filler(root, section).run(); }

std::string lay_out_rest(Entry& root, const char* title) {
  const std::vector<std::string> heads{"value"};
  const auto table = [&](const std::string& name, const std::vector<Row>& rows) -> std::string {
    if (rows.empty()) return {};
    return all_zero(rows) ? print_zeros(name, heads, rows) : print(name, heads, rows);
  };
  std::vector<Row> alone;
  for (Entry& part : root.parts) {
    if (!part.is_group()) collect(part, part.name, alone);
  }
  std::string text = table(title, alone);
  for (Entry& part : root.parts) {
    std::vector<Row> rows;
    if (part.is_group()) collect(part, "", rows);
    text += table(part.name, rows);
  }
  return text;
}

}  // namespace forebay::pool
