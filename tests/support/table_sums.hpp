// Reads the tables that statistics are printed as, as a person would who adds them up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

namespace forebay::test {

/// The parts of a line that two spaces or more keep apart.
inline std::vector<std::string> parts_of(const std::string& line) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; (at = line.find_first_not_of(' ', at)) != std::string::npos;) {
    const std::size_t end = std::min(line.find("  ", at), line.size());
    parts.push_back(line.substr(at, end - at));
    at = end;
  }
  return parts;
}

/// What the sums of a text of tables say: how many there are, and the first that is wrong.
struct TableSums {
  unsigned checked = 0;
  std::string wrong;
};

inline TableSums check_sums(const std::string& tables) {
  TableSums result;
  std::istringstream lines(tables);
  std::vector<std::string> heads;
  std::vector<std::uint64_t> sums;
  bool heading = true;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) {
      heading = true;
      continue;
    }
    if (heading) {
      heads = parts_of(line);
      heads.erase(heads.begin());
      sums.assign(heads.size(), 0);
      heading = false;
      continue;
    }
    if (line.starts_with("      ")) continue;  // a note below a line
    const char sign = line[0];
    std::vector<std::string> cells = parts_of(line.substr(2));
    cells.erase(cells.begin());
    if (cells.size() != heads.size()) continue;  // no table
    for (std::size_t i = 0; i < cells.size(); ++i) {
      // A peak of a sum is less than the sum of the peaks.
      if (heads[i] == "peak" || heads[i] == "at s" || heads[i] == "ever") continue;
      std::istringstream number(cells[i]);
      std::uint64_t value = 0;
      const bool counts = static_cast<bool>(number >> value);
      if (sign == '=' && counts) {
        ++result.checked;
        if (value != sums[i] && result.wrong.empty()) {
          result.wrong = line + " in " + heads[i] + ", but the sum is " + std::to_string(sums[i]);
        }
      }
      sums[i] = sign == '+' ? sums[i] + value : value;
    }
  }
  return result;
}

/// Whether a text has a number or word with nothing of the kind beside it.
inline bool has_token(const std::string& text, const std::string& token) {
  const auto within = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '.' || c == '_';
  };
  for (std::size_t at = text.find(token); at != std::string::npos; at = text.find(token, at + 1)) {
    const std::size_t end = at + token.size();
    if ((at == 0 || !within(text[at - 1])) && (end == text.size() || !within(text[end]))) {
      return true;
    }
  }
  return false;
}

}  // namespace forebay::test
