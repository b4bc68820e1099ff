// JSON schemas, checked by somebody else's code.
#pragma once

#include <memory>
#include <string>

namespace forebay::test {

class [[gnu::visibility("default")]] Schema {
 public:
  /// The text of a schema of draft 7; throws what nlohmann's parser does.
  explicit Schema(const std::string& text);
  ~Schema();
  Schema(const Schema&) = delete;
  Schema& operator=(const Schema&) = delete;

  /// Empty, or what the schema does not allow in the document of this text, a line each.
  [[nodiscard]] std::string complaints(const std::string& document) const;

 private:
  struct Parsed;
  std::unique_ptr<Parsed> parsed_;
};

}  // namespace forebay::test
