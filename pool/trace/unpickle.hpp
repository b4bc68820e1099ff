// Reads a pickle as data, and only as data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace forebay::pool {

/// What a pickle of protocol 2 to 5 holds: numbers, texts, lists, tuples, sets and dictionaries.
/// It is a small stack machine that knows the opcodes for those and refuses every other one, so
/// that nothing in the file is ever looked up, built or called.
///
/// Values are numbers of nodes. Texts stay in the pickle's bytes. Nothing here recurses, so nesting
/// costs no stack; lists may contain themselves, and whoever walks them goes down a fixed depth.
class Pickle {
 public:
  using Value = std::uint32_t;
  enum class Kind : std::uint8_t { none, boolean, integer, real, big, text, bytes, list, dict };

  /// Throws TraceError with `name` and the byte that is wrong, also when the values need more than
  /// `max_bytes` of host memory. `content` outlives the pickle.
  Pickle(std::string_view content, std::string_view name, std::size_t max_bytes);

  [[nodiscard]] Value root() const noexcept { return root_; }
  [[nodiscard]] Kind kind(Value value) const noexcept { return nodes_[value].kind; }
  /// The elements of a list, tuple or set; nothing for anything else.
  [[nodiscard]] const std::vector<Value>& items(Value value) const noexcept;
  /// The value of a dictionary under a text, the last one given; nothing if there is none or
  /// `value` is no dictionary. Cost: linear in the dictionary.
  [[nodiscard]] std::optional<Value> find(Value value, std::string_view key) const noexcept;
  /// The keys of a dictionary, 0 for anything else.
  [[nodiscard]] std::size_t keys(Value value) const noexcept {
    const Node& node = nodes_[value];
    return node.kind == Kind::dict ? children_[node.children].size() / 2 : 0;
  }
  [[nodiscard]] std::optional<std::int64_t> integer(Value value) const noexcept;
  [[nodiscard]] std::optional<std::string_view> text(Value value) const noexcept;

 private:
  class Machine;
  struct Node {
    Kind kind = Kind::none;
    std::uint32_t children = 0;  // list and dict: which of children_
    union {
      std::int64_t integer = 0;
      const char* text;
    };
    std::uint64_t length = 0;
  };
  std::vector<Node> nodes_;
  // Of lists: their elements. Of dictionaries: keys and values by turns.
  std::vector<std::vector<Value>> children_;
  Value root_ = 0;
};

}  // namespace forebay::pool
