#include "tools/forebay/json_reader.hpp"

#include <nlohmann/json.hpp>

#include "forebay/pool/error.hpp"
#include "tools/forebay/output.hpp"

namespace forebay::tools {

using Json = nlohmann::json;

namespace {

/// Below so many levels a tree ends in text, however deep the document is.
constexpr int kDeepest = 32;

pool::Entry tree_of(const Json& json, std::string name, int levels) {
  pool::Entry entry{std::move(name), {}, {}};
  if (json.is_structured() && levels == 0) {
    entry.value = std::string("...");
  } else if (json.is_array()) {
    for (const Json& item : json) {
      entry.parts.push_back(tree_of(item, std::to_string(entry.parts.size()), levels - 1));
    }
  } else if (json.is_object()) {
    for (const auto& item : json.items()) {
      entry.parts.push_back(tree_of(item.value(), printable(item.key()), levels - 1));
    }
  } else if (json.is_number_unsigned()) {
    entry.value = json.get<std::uint64_t>();
  } else if (json.is_number()) {
    entry.value = json.get<double>();
  } else {
    entry.value = json.is_string() ? printable(json.get_ref<const std::string&>()) : json.dump();
  }
  return entry;
}

}  // namespace

struct JsonDocument::Impl {
  Json root;

  [[nodiscard]] const Json* find(const std::string& pointer) const {
    const Json::json_pointer place(pointer);
    return root.contains(place) ? &root.at(place) : nullptr;
  }
};

JsonDocument::JsonDocument(std::string_view text, std::string_view name) {
  try {
    impl_ = std::make_unique<Impl>(Impl{Json::parse(text)});
  } catch (const Json::parse_error& error) {
    throw Error("'" + std::string(name) + "' is not JSON: it breaks at byte " +
                std::to_string(error.byte));
  } catch (const Json::exception&) {
    throw Error("'" + std::string(name) +
                "' is JSON that cannot be read: a number in it is larger "
                "than any floating-point number");
  }
}
JsonDocument::~JsonDocument() = default;

std::optional<double> JsonDocument::number(const std::string& pointer) const {
  const Json* found = impl_->find(pointer);
  return found != nullptr && found->is_number() ? std::optional(found->get<double>())
                                                : std::nullopt;
}

std::optional<std::uint64_t> JsonDocument::count(const std::string& pointer) const {
  const Json* found = impl_->find(pointer);
  return found != nullptr && found->is_number_unsigned()
             ? std::optional(found->get<std::uint64_t>())
             : std::nullopt;
}

std::optional<bool> JsonDocument::flag(const std::string& pointer) const {
  const Json* found = impl_->find(pointer);
  return found != nullptr && found->is_boolean() ? std::optional(found->get<bool>()) : std::nullopt;
}

std::optional<std::string> JsonDocument::text(const std::string& pointer) const {
  const Json* found = impl_->find(pointer);
  return found != nullptr && found->is_string() ? std::optional(found->get<std::string>())
                                                : std::nullopt;
}

std::vector<std::string> JsonDocument::members(const std::string& pointer) const {
  std::vector<std::string> names;
  const Json* found = impl_->find(pointer);
  if (found != nullptr && found->is_object()) {
    for (const auto& item : found->items()) names.push_back(item.key());
  }
  return names;
}

std::size_t JsonDocument::size(const std::string& pointer) const {
  const Json* found = impl_->find(pointer);
  return found != nullptr && found->is_array() ? found->size() : 0;
}

bool JsonDocument::is_array(const std::string& pointer) const {
  const Json* found = impl_->find(pointer);
  return found != nullptr && found->is_array();
}

bool JsonDocument::is_object(const std::string& pointer) const {
  const Json* found = impl_->find(pointer);
  return found != nullptr && found->is_object();
}

pool::Entry JsonDocument::entry(const std::string& pointer) const {
  const Json* found = impl_->find(pointer);
  return found != nullptr ? tree_of(*found, "", kDeepest) : pool::Entry{};
}

std::string JsonDocument::json(const std::string& pointer) const {
  const Json* found = impl_->find(pointer);
  return found != nullptr ? found->dump() : "null";
}

}  // namespace forebay::tools
