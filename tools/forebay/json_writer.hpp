// Writes JSON, piece by piece.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace forebay::tools {

/// Builds one JSON text. Objects and arrays are opened and closed in pairs; inside an object every
/// value follows a `key`. In the outer two levels, members of an object and objects of an array
/// stand on lines of their own; everything deeper, and every array of plain values, stays on one
/// line. Floats are written with the fewest digits that read back as the same number; what JSON has
/// no number for (infinities and NaN) becomes null.
class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);

  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(bool flag);
  JsonWriter& value(double number);
  JsonWriter& value(float number);
  template <std::integral T>
  requires(!std::same_as<T, bool>) JsonWriter& value(T number) {
    return raw(std::to_string(number));
  }
  JsonWriter& null() { return raw("null"); }
  /// A value that is JSON already.
  JsonWriter& raw(std::string_view json);

  /// `key(name).value(value)`.
  template <typename T>
  JsonWriter& field(std::string_view name, const T& v) {
    return key(name).value(v);
  }
  template <typename T>
  JsonWriter& field(std::string_view name, const std::vector<T>& values) {
    key(name).begin_array();
    for (const T& v : values) value(v);
    return end_array();
  }

  /// The text, with a line's end. REQUIRES: everything opened is closed.
  [[nodiscard]] std::string text() const { return text_ + "\n"; }

 private:
  struct Level {
    bool object = false;
    bool empty = true;
    bool lined = false;  ///< something in it stands on a line of its own
  };
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void separate(bool opens_object = false);
  void new_line();

  std::string text_;
  std::vector<Level> levels_;
  bool after_key_ = false;
};

}  // namespace forebay::tools
