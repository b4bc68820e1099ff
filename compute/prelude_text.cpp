#include "compute/prelude_text.hpp"

#include <cctype>
#include <set>
#include <vector>

namespace forebay::compute {
namespace {

using Names = std::set<std::string_view>;

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Calls `visit` with each name of the prelude (fb_…, Fb…, FB_…) in `text`, in order.
template <typename Visit>
void each_name(std::string_view text, Visit&& visit) {
  for (std::size_t i = 0; i < text.size();) {
    if (!in_name(text[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && in_name(text[end])) ++end;
    const std::string_view name = text.substr(i, end - i);
    const std::string_view start = name.substr(0, 2);
    if (start == "fb" || start == "Fb" || start == "FB") visit(name);
    i = end;
  }
}

struct Part {
  std::string_view text;
  Names defines;
  Names names;
};

// What a line defines: the function whose parameters follow FB_FN, the one that a form is for, a
// structure or a macro.
void add_definition(Part& part, std::string_view line) {
  const auto add = [&](std::string_view text) {
    std::string_view last;
    each_name(text, [&](std::string_view name) { last = name; });
    if (!last.empty()) part.defines.insert(last);
  };
  const auto starts = [&](std::string_view start) { return line.substr(0, start.size()) == start; };
  const std::size_t function = line.find("FB_FN ");
  if (starts("#define FB_")) {
    add(line.substr(0, line.find_first_of("( ", sizeof "#define")));
  } else if (starts("struct Fb") || starts("FB_SINGLE_1(")) {
    add(line.substr(0, line.find_first_of("){")));
  } else if (function != std::string_view::npos) {
    const std::size_t begin = function + sizeof "FB_FN";
    const std::string_view head = line.substr(begin, line.find('(', begin) - begin);
    // Forms define what their argument names.
    if (head.find(" fb_") != std::string_view::npos) add(head);
  }
}

void add_definitions(Part& part) {
  for (std::size_t at = 0; at < part.text.size();) {
    const std::size_t end = std::min(part.text.find('\n', at), part.text.size());
    add_definition(part, part.text.substr(at, end - at));
    at = end + 1;
  }
}

const std::vector<Part>& index() {
  static const std::vector<Part> parts = [] {
    std::vector<Part> made;
    for (const std::string_view text : prelude_parts()) {
      Part& part = made.emplace_back(Part{text, {}, {}});
      add_definitions(part);
      each_name(text, [&](std::string_view name) { part.names.insert(name); });
    }
    return made;
  }();
  return parts;
}

bool meet(const Names& a, const Names& b) {
  for (const std::string_view name : a) {
    if (b.contains(name)) return true;
  }
  return false;
}

}  // namespace

std::string_view prelude_text() {
  static const std::string text = [] {
    std::string all;
    for (const std::string_view part : prelude_parts()) all += part;
    return all;
  }();
  return text;
}

std::string prelude_for(std::string_view source) {
  const std::vector<Part>& parts = index();
  Names wanted;
  each_name(source, [&](std::string_view name) { wanted.insert(name); });
  // Parts name only what stands before them. The first one is for all.
  std::vector<bool> chosen(parts.size(), false);
  for (std::size_t i = parts.size(); i-- > 0;) {
    chosen[i] = i == 0 || meet(parts[i].defines, wanted);
    if (chosen[i]) wanted.insert(parts[i].names.begin(), parts[i].names.end());
  }
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (chosen[i]) text += parts[i].text;
  }
  return text;
}

}  // namespace forebay::compute
