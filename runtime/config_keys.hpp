// The one table of configuration keys: reading, writing, checking, the schema and the guide use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "forebay/runtime/config.hpp"

namespace forebay::config_keys {

/// Where a key's value lies in a Config; the type decides how it is written in JSON: a size_t is a
/// size in bytes, a uint32_t a count, a string the path of a folder, an enumeration one of its
/// names, a ladder a list of rungs' names.
using Field =
    std::variant<std::size_t*, std::uint32_t*, double*, bool*, std::string*, pool::PoolMode*,
                 pool::PoolBacking*, pool::PoolPeers*, pool::PoolExport*, pool::MisusePolicy*,
                 pool::Ladder*, pool::StackMode*, FusionTier*, LogLevel*>;

/// The limits of a number; both ends belong to it. They are below 2^53, so doubles hold them.
struct Range {
  double least = 0;
  double most = 0;
  bool or_zero = false;  ///< 0 is allowed too, with the meaning that the description gives it
};

/// One key of the configuration.
struct Key {
  std::string pointer;      ///< its JSON pointer: "/pool/slab/max_block"
  std::string description;  ///< one sentence for users
  Range range;              ///< of numbers
  std::function<Field(Config&)> field;
  /// Why the key does nothing in this configuration, empty if it does something.
  std::function<std::string(const Config&)> idle;
  /// What is wrong with the value beside those of other keys, empty if nothing is.
  std::function<std::string(const Config&)> clash;
};

/// Every key, in the order of the files. Keys of one object stand together.
[[nodiscard]] const std::vector<Key>& all();

/// The names of the key's values if they are an enumeration, else nothing. They are in the order of
/// the enumerators.
[[nodiscard]] std::vector<std::string_view> choices(const Key& key);

/// What the key takes, as the end of a message: `an integer from 1 to 4096`.
[[nodiscard]] std::string allowed(const Key& key);

/// The key's value as a number; an enumeration's is its index, a path's its length, and no
/// two ladders have the same.
[[nodiscard]] double number(const Key& key, const Config& config);

/// Linux takes paths of 4095 bytes, with a file's name at their end.
inline constexpr std::size_t kLongestFolder = 3900;
/// Whether `path` may stand for a folder: empty, or absolute.
[[nodiscard]] bool is_folder(std::string_view path);

/// What is wrong with the key's value in `config`, with what is allowed; empty if nothing is.
[[nodiscard]] std::string complaint(const Key& key, const Config& config);

/// Throws ConfigError for the first value of `config` that is out of range; `name` stands for the
/// file in the message.
void check(const Config& config, std::string_view name);

/// The pointer of a key or of an object of keys that looks most like `pointer`.
[[nodiscard]] std::string nearest(std::string_view pointer);

/// Every key with its description, default and limits: docs/configuration.md.
[[nodiscard]] std::string guide();

}  // namespace forebay::config_keys
