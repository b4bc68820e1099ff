#include "runtime/kernel_key.hpp"

#include <charconv>

namespace forebay {
namespace {

constexpr std::string_view kFirstLine = "forebay kernel 1\n";

/// "LENGTH\nTEXT\n"; the length in front keeps neighbours from being taken for each other.
void append(std::string& to, std::string_view text) {
  to.append(std::to_string(text.size())).append("\n").append(text).append("\n");
}

bool take(std::string_view& from, std::string& text) {
  std::size_t length = 0;
  const char* const end = from.data() + from.size();
  const auto [after, error] = std::from_chars(from.data(), end, length);
  if (error != std::errc() || after == end || *after != '\n') return false;
  from.remove_prefix(static_cast<std::size_t>(after - from.data()) + 1);
  if (from.size() <= length || from[length] != '\n') return false;
  text = from.substr(0, length);
  from.remove_prefix(length + 1);
  return true;
}

}  // namespace

std::string material_of(const KernelKey& key) {
  std::string material(kFirstLine);
  for (const std::string* part :
       {&key.entry, &key.architecture, &key.compiler, &key.options, &key.source}) {
    append(material, *part);
  }
  return material;
}

std::optional<KernelKey> kernel_key_of(std::string_view material) {
  if (material.substr(0, kFirstLine.size()) != kFirstLine) return std::nullopt;
  std::string_view rest = material.substr(kFirstLine.size());
  KernelKey key;
  for (std::string* part :
       {&key.entry, &key.architecture, &key.compiler, &key.options, &key.source}) {
    if (!take(rest, *part)) return std::nullopt;
  }
  // Only the one spelling that material_of gives: "007" is 7 too.
  if (!rest.empty() || material_of(key) != material) return std::nullopt;
  return key;
}

}  // namespace forebay
