#include "forebay/runtime/config.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <vector>

#include "runtime/config_keys.hpp"
#include "runtime/size_text.hpp"

namespace forebay {

namespace {

using config_keys::Field;
using config_keys::Key;
using nlohmann::json;
using nlohmann::ordered_json;

/// Longer files are no configuration; the limit bounds what a wrong path can cost.
constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20;

/// More of them than that help nobody; the limit bounds what a large file can cost.
constexpr std::size_t kMostMistakes = 100;

std::string line(std::string_view name, std::string_view pointer, const std::string& what) {
  std::string text(name);
  if (!pointer.empty()) text.append(": ").append(pointer);
  return text + ": " + what;
}

/// For what leaves nothing to look for further mistakes in.
[[noreturn]] void fail(std::string_view name, const std::string& what) {
  throw ConfigError(line(name, "", what));
}

/// What is wrong with a document.
class Mistakes {
 public:
  explicit Mistakes(std::string_view name) : name_(name) {}

  void add(std::string_view pointer, const std::string& what) {
    if (full()) return;
    lines_.push_back(line(name_, pointer, what));
    if (full()) {
      lines_.push_back(line(
          name_, "",
          "more than " + std::to_string(kMostMistakes - 1) + " mistakes; those above come first"));
    }
  }
  /// Also remembers that the key's value is not what its author meant. `inside` points at a part of
  /// the value.
  void add(const Key& key, const std::string& what, const std::string& inside = {}) {
    add(key.pointer + inside, what);
    keys_.insert(&key);
  }
  [[nodiscard]] bool full() const noexcept { return lines_.size() >= kMostMistakes; }
  [[nodiscard]] bool has(const Key& key) const { return keys_.count(&key) > 0; }
  /// Whether `what` speaks of a key with a mistake, whose value here is only the default.
  [[nodiscard]] bool speaks_of_one(const std::string& what) const {
    return std::any_of(keys_.begin(), keys_.end(), [&](const Key* key) {
      return what.find(key->pointer.substr(key->pointer.find('/', 1) + 1)) != std::string::npos;
    });
  }
  [[nodiscard]] const std::vector<std::string>& lines() const noexcept { return lines_; }

 private:
  std::string_view name_;
  std::vector<std::string> lines_;
  std::set<const Key*> keys_;
};

/// One line, at most about 60 characters.
std::string shown(const json& value) {
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

/// `token` as a part of a JSON pointer, on one line.
std::string escaped(const std::string& token) {
  std::string text;
  for (const char c : token) {
    if (c == '~') {
      text += "~0";
    } else if (c == '/') {
      text += "~1";
    } else {
      text += c;
    }
  }
  text = json(text).dump(-1, ' ', true, json::error_handler_t::replace);
  text = text.substr(1, text.size() - 2);
  return text.size() > 60 ? text.substr(0, 57) + "..." : text;
}

/// Finds keys that an object has twice, which the parser would let pass. It is called by the parser
/// as it goes.
class DuplicateKeys {
 public:
  explicit DuplicateKeys(Mistakes& mistakes) : mistakes_(mistakes) {}

  bool operator()(json::parse_event_t event, const json& parsed) {
    switch (event) {
      case json::parse_event_t::object_start:
        open_.emplace_back();
        break;
      case json::parse_event_t::object_end:
        open_.pop_back();
        break;
      case json::parse_event_t::key:
        see(parsed.get<std::string>());
        break;
      default:
        break;
    }
    return true;
  }

 private:
  struct Object {
    std::set<std::string> keys;
    std::string current;
  };

  void see(std::string key) {
    open_.back().current = key;
    if (open_.back().keys.insert(std::move(key)).second) return;
    std::string pointer;
    for (const Object& object : open_) pointer += "/" + escaped(object.current);
    mistakes_.add(pointer, "the key is there twice; each key may be given once");
  }

  Mistakes& mistakes_;
  std::vector<Object> open_;
};

json parse_text(std::string_view text, std::string_view name, Mistakes& mistakes) {
  if (text.size() > kMaxFileBytes) {
    fail(name, "longer than " + format_size(kMaxFileBytes) + ", so it is no configuration");
  }
  DuplicateKeys duplicates(mistakes);
  try {
    return json::parse(text.begin(), text.end(), [&](int, json::parse_event_t event, json& parsed) {
      return duplicates(event, parsed);
    });
  } catch (const json::exception& error) {
    // The library's own number of the error stands in brackets in front and helps nobody.
    const std::string what = error.what();
    const auto bracket = what.find("] ");
    const std::string quoted = json(bracket == std::string::npos ? what : what.substr(bracket + 2))
                                   .dump(-1, ' ', true, json::error_handler_t::replace);
    fail(name, "not JSON: " + quoted.substr(1, quoted.size() - 2));
  }
}

/// The number of a JSON value for `key`; nothing if the type is wrong. Negative integers and other
/// values out of range are numbers: the range is checked later.
std::optional<double> number_of(const json& value, const Key& key, const Field& field) {
  const auto names = config_keys::choices(key);
  if (!names.empty()) {
    if (!value.is_string()) return std::nullopt;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == value.get_ref<const std::string&>()) return static_cast<double>(i);
    }
    return std::nullopt;
  }
  if (std::holds_alternative<bool*>(field)) {
    return value.is_boolean() ? std::optional<double>(value.get<bool>() ? 1 : 0) : std::nullopt;
  }
  if (std::holds_alternative<double*>(field)) {
    return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
  }
  if (std::holds_alternative<std::size_t*>(field) && value.is_string()) {
    const auto bytes = parse_size(value.get_ref<const std::string&>());
    return bytes ? std::optional(static_cast<double>(*bytes)) : std::nullopt;
  }
  return value.is_number_integer() ? std::optional(value.get<double>()) : std::nullopt;
}

/// The first mistake alone is told: others may come of it.
void set_ladder(const Key& key, pool::Ladder& ladder, const json& value, Mistakes& mistakes) {
  if (!value.is_array()) {
    mistakes.add(key, "found " + shown(value) + ", allowed is " + config_keys::allowed(key));
    return;
  }
  pool::Ladder wanted;
  for (const json& item : value) {
    const std::string inside = "/" + std::to_string(wanted.size());
    const auto rung =
        item.is_string() ? pool::ladder_rung(item.get_ref<const std::string&>()) : std::nullopt;
    if (!rung) {
      std::string names;
      for (const pool::LadderRung one : pool::default_ladder()) {
        names += (names.empty() ? "\"" : ", \"") + std::string(to_string(one)) + "\"";
      }
      mistakes.add(key, "found " + shown(item) + ", allowed is one of " + names, inside);
      return;
    }
    wanted.push_back(*rung);
  }
  if (const auto mistake = pool::ladder_mistake(wanted)) {
    const bool missing = mistake->at == wanted.size();
    mistakes.add(key, mistake->what, missing ? "" : "/" + std::to_string(mistake->at));
    return;
  }
  ladder = std::move(wanted);
}

void set(const Key& key, Config& config, const json& value, Mistakes& mistakes) {
  const Field field = key.field(config);
  if (const auto path = std::get_if<std::string*>(&field)) {
    if (!value.is_string() || !config_keys::is_folder(value.get_ref<const std::string&>())) {
      mistakes.add(key, "found " + shown(value) + ", allowed is " + config_keys::allowed(key));
      return;
    }
    **path = value.get<std::string>();
    return;
  }
  if (const auto ladder = std::get_if<pool::Ladder*>(&field)) {
    set_ladder(key, **ladder, value, mistakes);
    return;
  }
  const auto wanted = number_of(value, key, field);
  const config_keys::Range& range = key.range;
  const bool ranged = range.most > range.least;
  if (!wanted || (ranged && !(*wanted >= range.least && *wanted <= range.most) &&
                  !(range.or_zero && *wanted == 0))) {
    mistakes.add(key, "found " + shown(value) + ", allowed is " + config_keys::allowed(key));
    return;
  }
  std::visit(
      [&](auto* target) {
        // In range, so it fits; sizes are below 2^53, so the double is exact.
        using Target = std::remove_pointer_t<decltype(target)>;
        if constexpr (std::is_enum_v<Target>) {
          *target = static_cast<Target>(static_cast<int>(*wanted));
        } else if constexpr (std::is_same_v<Target, bool>) {
          *target = *wanted != 0;
        } else if constexpr (!std::is_same_v<Target, std::string> &&
                             !std::is_same_v<Target, pool::Ladder>) {
          *target = static_cast<Target>(*wanted);
        }
      },
      field);
}

/// By which a file names its schema.
constexpr const char* kSchemaKey = "/$schema";

/// Walks the objects of a document and sets each key in `config`; returns the keys it met.
std::vector<const Key*> apply(const json& object, const std::string& pointer, Config& config,
                              Mistakes& mistakes) {
  std::vector<const Key*> met;
  if (!object.is_object()) {
    mistakes.add(pointer, "found " + shown(object) + ", allowed is an object of keys");
    return met;
  }
  for (const auto& [token, value] : object.items()) {
    if (mistakes.full()) break;
    const std::string child = pointer + "/" + escaped(token);
    if (child == kSchemaKey && value.is_string()) continue;
    const Key* exact = nullptr;
    bool inner = false;
    for (const Key& key : config_keys::all()) {
      if (key.pointer == child) exact = &key;
      inner = inner || key.pointer.compare(0, child.size() + 1, child + "/") == 0;
    }
    if (exact != nullptr) {
      set(*exact, config, value, mistakes);
      met.push_back(exact);
    } else if (inner) {
      const auto below = apply(value, child, config, mistakes);
      met.insert(met.end(), below.begin(), below.end());
    } else {
      mistakes.add(child, "unknown key; the nearest known key is " + config_keys::nearest(child));
    }
  }
  return met;
}

ordered_json value_json(const Key& key, const Config& config) {
  const double value = config_keys::number(key, config);
  const auto names = config_keys::choices(key);
  if (!names.empty()) return names.at(static_cast<std::size_t>(value));
  // The field is only read.
  const Field field = key.field(const_cast<Config&>(config));
  if (const auto ladder = std::get_if<pool::Ladder*>(&field)) {
    ordered_json list = ordered_json::array();
    for (const pool::LadderRung rung : **ladder) list.push_back(to_string(rung));
    return list;
  }
  if (std::holds_alternative<std::size_t*>(field)) {
    const std::size_t bytes = *std::get<std::size_t*>(field);
    if (bytes != 0 && bytes % 1024 == 0) return format_size(bytes);
    return bytes;
  }
  return std::visit(
      [](const auto* plain) -> ordered_json {
        using Plain = std::remove_cvref_t<decltype(*plain)>;
        if constexpr (std::is_enum_v<Plain> || std::is_same_v<Plain, pool::Ladder>) {
          return nullptr;
        } else {
          return *plain;
        }
      },
      field);
}

ordered_json key_schema(const Key& key) {
  ordered_json schema;
  schema["description"] = key.description;
  const Config defaults;
  schema["default"] = value_json(key, defaults);
  const auto names = config_keys::choices(key);
  Config probe;
  const Field field = key.field(probe);
  if (!names.empty()) {
    schema["enum"] = names;
    return schema;
  }
  if (std::holds_alternative<bool*>(field)) {
    schema["type"] = "boolean";
    return schema;
  }
  if (std::holds_alternative<std::string*>(field)) {
    schema["type"] = "string";
    schema["pattern"] = "^(/[^\\u0000-\\u001f\\u007f]*)?$";
    schema["maxLength"] = config_keys::kLongestFolder;
    return schema;
  }
  if (std::holds_alternative<pool::Ladder*>(field)) {
    const ordered_json first{{"const", to_string(pool::LadderRung::completed)}};
    ordered_json others = value_json(key, defaults);
    others.erase(0);
    schema["type"] = "array";
    schema["items"] = ordered_json::array({first});
    schema["additionalItems"] = {{"enum", others}};
    schema["minItems"] = 2;
    schema["uniqueItems"] = true;
    schema["contains"] = {{"const", to_string(pool::LadderRung::map)}};
    return schema;
  }
  const bool real = std::holds_alternative<double*>(field);
  const auto limit = [&](double value) -> ordered_json {
    if (real) return value;
    return static_cast<std::uint64_t>(value);
  };
  ordered_json number;
  number["type"] = real ? "number" : "integer";
  number["minimum"] = limit(key.range.least);
  number["maximum"] = limit(key.range.most);
  ordered_json forms = ordered_json::array({number});
  if (key.range.or_zero && key.range.least > 0) forms.push_back({{"const", 0}});
  if (std::holds_alternative<std::size_t*>(field)) {
    forms.push_back({{"type", "string"}, {"pattern", kSizePattern}});
  }
  if (forms.size() == 1) {
    schema.update(number);
  } else {
    schema["anyOf"] = forms;
  }
  return schema;
}

/// The tokens of a pointer: "/pool/slab/max_block" gives pool, slab, max_block.
std::vector<std::string> tokens(const std::string& pointer) {
  std::vector<std::string> found;
  std::istringstream stream(pointer.substr(1));
  for (std::string token; std::getline(stream, token, '/');) found.push_back(token);
  return found;
}

ordered_json object_schema() {
  return {
      {"type", "object"}, {"additionalProperties", false}, {"properties", ordered_json::object()}};
}

std::string content(const std::filesystem::path& file, const std::string& name) {
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  std::string text(kMaxFileBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!stream.is_open() || stream.bad()) {
    const std::string why = errno != 0 ? std::strerror(errno) : "reading failed";
    fail(name, "cannot be read: " + why);
  }
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

/// The configuration of a text; what is wrong in it is left at its default and in `mistakes`.
/// Throws ConfigError for what is no JSON.
Config read(std::string_view text, std::string_view name, Mistakes& mistakes) {
  const json document = parse_text(text, name, mistakes);
  Config config;
  for (const Key* key : apply(document, "", config, mistakes)) {
    const std::string why = key->idle(config);
    if (!why.empty() && !mistakes.has(*key)) {
      mistakes.add(*key, "the key has no effect while " + why + "; leave it out");
    }
  }
  for (const Key& key : config_keys::all()) {
    if (mistakes.has(key)) continue;
    const std::string wrong = config_keys::complaint(key, config);
    if (!wrong.empty() && !mistakes.speaks_of_one(wrong)) mistakes.add(key, wrong);
  }
  return config;
}

}  // namespace

Config Config::load(const std::filesystem::path& file) {
  const std::string name = file.string();
  return parse(content(file, name), name);
}

Config Config::parse(std::string_view text, std::string_view name) {
  Mistakes mistakes(name);
  Config config = read(text, name, mistakes);
  if (!mistakes.lines().empty()) throw ConfigError(mistakes.lines().front());
  return config;
}

std::vector<std::string> Config::mistakes(const std::filesystem::path& file) {
  const std::string name = file.string();
  try {
    Mistakes mistakes(name);
    static_cast<void>(read(content(file, name), name, mistakes));
    return mistakes.lines();
  } catch (const ConfigError& error) {
    return {error.what()};
  }
}

std::string Config::to_json() const {
  ordered_json document = ordered_json::object();
  for (const Key& key : config_keys::all()) {
    if (!key.idle(*this).empty()) continue;
    document[ordered_json::json_pointer(key.pointer)] = value_json(key, *this);
  }
  // A path that a program has set need not be UTF-8.
  return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string Config::schema() {
  ordered_json schema;
  schema["$schema"] = "http://json-schema.org/draft-07/schema#";
  schema["title"] = "Configuration of forebay";
  schema.update(object_schema());
  schema["properties"][kSchemaKey + 1] = {
      {"description", "Where this schema is, for editors; nothing else reads it."},
      {"type", "string"}};
  for (const Key& key : config_keys::all()) {
    ordered_json* object = &schema;
    const auto path = tokens(key.pointer);
    for (std::size_t i = 0; i + 1 < path.size(); ++i) {
      ordered_json& below = (*object)["properties"][path[i]];
      if (below.is_null()) below = object_schema();
      object = &below;
    }
    (*object)["properties"][path.back()] = key_schema(key);
  }
  return schema.dump(2) + "\n";
}

}  // namespace forebay
