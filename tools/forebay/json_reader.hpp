// Reads JSON that somebody else wrote, by JSON pointer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pool/ledger.hpp"

namespace forebay::tools {

/// A parsed JSON text. Every look-up takes a JSON pointer ("/pool/held/current") and answers
/// nothing for what is not there or is of another type.
class JsonDocument {
 public:
  /// Throws Error saying where `text`, which came from `name`, is not JSON.
  JsonDocument(std::string_view text, std::string_view name);
  ~JsonDocument();
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;

  [[nodiscard]] std::optional<double> number(const std::string& pointer) const;
  [[nodiscard]] std::optional<std::uint64_t> count(const std::string& pointer) const;
  [[nodiscard]] std::optional<bool> flag(const std::string& pointer) const;
  [[nodiscard]] std::optional<std::string> text(const std::string& pointer) const;
  /// The names of an object's members, in the text's order or sorted.
  [[nodiscard]] std::vector<std::string> members(const std::string& pointer) const;
  /// How many elements an array has; 0 for anything else.
  [[nodiscard]] std::size_t size(const std::string& pointer) const;
  [[nodiscard]] bool is_array(const std::string& pointer) const;
  [[nodiscard]] bool is_object(const std::string& pointer) const;
  /// What stands there and below as a tree, fit to be printed: whole numbers that are not negative,
  /// other numbers, and everything else as text without control characters.
  [[nodiscard]] pool::Entry entry(const std::string& pointer) const;
  /// What stands there as JSON on one line; "null" for nothing.
  [[nodiscard]] std::string json(const std::string& pointer) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace forebay::tools
