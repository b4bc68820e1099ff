// Files that forebay has written and reads again.
#pragma once

#include <string>

namespace forebay::tools {

/// All of a dump's text. `option` names what writes such files, for messages. Throws Error for a
/// file that cannot be read or is far too long to be a dump.
[[nodiscard]] std::string read_dump(const std::string& file, const char* option);

}  // namespace forebay::tools
