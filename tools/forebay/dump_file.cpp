#include "tools/forebay/dump_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "forebay/pool/error.hpp"

namespace forebay::tools {
namespace {

/// Far more than any dump has; a device file may never end.
constexpr std::size_t kMaxMiB = 64;

}  // namespace

std::string read_dump(const std::string& file, const char* option) {
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  std::string text;
  for (char buffer[4096]; in.read(buffer, sizeof buffer) || in.gcount() > 0;) {
    text.append(buffer, static_cast<std::size_t>(in.gcount()));
    if (text.size() > kMaxMiB << 20) {
      throw Error("'" + file + "' is longer than " + std::to_string(kMaxMiB) +
                  " MiB, so it is no dump; name a file that " + option + " has written");
    }
  }
  if (!in.is_open() || in.bad()) {
    const std::string why = errno != 0 ? std::strerror(errno) : "reading failed";
    throw Error("cannot read '" + file + "': " + why + "; name a file that " + option +
                " has written");
  }
  return text;
}

}  // namespace forebay::tools
