#include "tests/support/schema.hpp"

#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

namespace forebay::test {

using nlohmann::json;
using valijson::adapters::NlohmannJsonAdapter;

struct Schema::Parsed {
  valijson::Schema schema;
};

Schema::Schema(const std::string& text) : parsed_(std::make_unique<Parsed>()) {
  const json parsed = json::parse(text);
  valijson::SchemaParser(valijson::SchemaParser::kDraft7)
      .populateSchema(NlohmannJsonAdapter(parsed), parsed_->schema);
}

Schema::~Schema() = default;

std::string Schema::complaints(const std::string& document) const {
  const json parsed = json::parse(document);
  valijson::ValidationResults results;
  if (valijson::Validator().validate(parsed_->schema, NlohmannJsonAdapter(parsed), &results)) {
    return {};
  }
  std::string text;
  for (const auto& error : results) text += error.description + "\n";
  return text.empty() ? "the document is not valid\n" : text;
}

}  // namespace forebay::test
