#include "tools/forebay/shape_option.hpp"

#include <charconv>
#include <string>
#include <vector>

#include "tools/forebay/command.hpp"

namespace forebay::tools {

Dims parse_shape(std::string_view text) {
  const auto refuse = [&](const std::string& why) -> UsageError {
    return UsageError("--shape '" + std::string(text) + "' " + why +
                      "; write whole numbers like 32,4,84,84");
  };
  std::vector<std::int64_t> extents;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    std::int64_t extent = 0;
    const auto [stop, error] = std::from_chars(item.data(), item.data() + item.size(), extent);
    if (error == std::errc::result_out_of_range) throw refuse("has an extent beyond 2^63");
    if (error != std::errc{} || stop != item.data() + item.size()) {
      throw refuse("has '" + std::string(item) + "' where an extent belongs");
    }
    if (extent < 0) throw refuse("has a negative extent");
    extents.push_back(extent);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  try {
    const Dims shape(extents);
    static_cast<void>(checked_numel(shape));
    return shape;
  } catch (const ShapeError& error) {
    throw UsageError("--shape: " + std::string(error.what()));
  }
}

}  // namespace forebay::tools
