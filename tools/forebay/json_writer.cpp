#include "tools/forebay/json_writer.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "pool/utf8.hpp"

namespace forebay::tools {
namespace {

constexpr std::size_t kLinedLevels = 2;  // deeper members share a line

template <typename T>
std::string shortest(T number) {
  char digits[64];
  const auto result = std::to_chars(digits, digits + sizeof digits, number);
  return {digits, result.ptr};
}

std::string quoted(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (std::size_t at = 0, length = 0; at < text.size(); at += std::max<std::size_t>(length, 1)) {
    const char c = text[at];
    const auto byte = static_cast<unsigned char>(c);
    length = pool::utf8_length(text, at);
    if (length == 0) {
      out += '?';  // no UTF-8, as the name of a file may be
    } else if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20) {
      out += {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      out += text.substr(at, length);
    }
  }
  return out += '"';
}

}  // namespace

void JsonWriter::new_line() { text_ += '\n' + std::string(2 * levels_.size(), ' '); }

void JsonWriter::separate(bool opens_object) {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (levels_.empty()) return;
  Level& level = levels_.back();
  if (!level.empty) text_ += ',';
  if (levels_.size() <= kLinedLevels && (level.object || opens_object)) {
    level.lined = true;
    new_line();
  } else if (!level.empty) {
    text_ += ' ';
  }
  level.empty = false;
}

JsonWriter& JsonWriter::open(char bracket) {
  separate(bracket == '{');
  text_ += bracket;
  levels_.push_back({bracket == '{'});
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  const bool lined = levels_.back().lined;
  levels_.pop_back();
  if (lined) new_line();
  text_ += bracket;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  text_ += quoted(name) + ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  while (!json.empty() && json.back() == '\n') json.remove_suffix(1);
  text_ += json;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) { return raw(quoted(text)); }
JsonWriter& JsonWriter::value(bool flag) { return raw(flag ? "true" : "false"); }
JsonWriter& JsonWriter::value(double number) {
  return std::isfinite(number) ? raw(shortest(number)) : null();
}
JsonWriter& JsonWriter::value(float number) {
  return std::isfinite(number) ? raw(shortest(number)) : null();
}

}  // namespace forebay::tools
