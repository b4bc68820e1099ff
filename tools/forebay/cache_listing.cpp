#include "tools/forebay/cache_listing.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <utility>

#include "runtime/cache_entry.hpp"
#include "runtime/kernel_key.hpp"
#include "runtime/size_text.hpp"
#include "tools/forebay/json_writer.hpp"
#include "tools/forebay/output.hpp"

namespace forebay::tools {
namespace {

void describe(CachedKernel& kernel, const CacheFolder::Read& read) {
  kernel.problem = read.problem;
  if (read.state != CacheFolder::Read::State::read) return;
  const cache_entry::Parts parts = cache_entry::check(read.bytes);
  kernel.problem = parts.problem;
  kernel.foreign = parts.foreign;
  if (!parts.problem.empty()) return;
  if (cache_entry::name_of(parts.material) != kernel.name) {
    kernel.problem = "another entry's content";
  } else if (const auto key = kernel_key_of(parts.material)) {
    kernel.kernel = key->entry;
    kernel.architecture = key->architecture;
    kernel.compiler = key->compiler;
  } else {
    kernel.problem = "no kernel";
  }
}

std::string utc(std::int64_t ns) {
  const std::time_t seconds = static_cast<std::time_t>(ns / 1'000'000'000);
  std::tm parts{};
  char text[64] = "?";
  if (gmtime_r(&seconds, &parts) != nullptr) {
    (void)std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  }
  return text;
}

/// "NVRTC 13.0" of "NVRTC 13.0 98416832 1756400000.0": the rest tells builds apart, not people.
std::string short_compiler(const std::string& compiler) {
  const std::size_t first = compiler.find(' ');
  return first == std::string::npos ? compiler : compiler.substr(0, compiler.find(' ', first + 1));
}

}  // namespace

CacheListing list_cache(const CacheFolder& folder) {
  CacheListing listing;
  for (CacheFolder::File& file : folder.list()) {
    if (file.temporary) {
      ++listing.unfinished;
      continue;
    }
    const CacheFolder::Read read = folder.read(file.name);
    if (read.state == CacheFolder::Read::State::absent) continue;
    CachedKernel kernel;
    kernel.name = std::move(file.name);
    kernel.bytes = file.bytes;
    kernel.used_ns = file.used_ns;
    describe(kernel, read);
    listing.bytes += kernel.bytes;
    listing.kernels.push_back(std::move(kernel));
  }
  std::sort(listing.kernels.begin(), listing.kernels.end(), [](const auto& a, const auto& b) {
    return a.used_ns != b.used_ns ? a.used_ns > b.used_ns : a.name < b.name;
  });
  return listing;
}

std::string cache_table(const CacheListing& listing) {
  std::string text;
  char line[128];
  if (!listing.kernels.empty()) {
    std::snprintf(line, sizeof line, "%12s  %-20s  %-12s  %-10s  ", "bytes", "last used",
                  "architecture", "compiler");
    text.append(line).append("kernel\n");
  }
  for (const CachedKernel& kernel : listing.kernels) {
    std::snprintf(line, sizeof line, "%12llu  %-20s  %-12.12s  %-10.20s  ",
                  static_cast<unsigned long long>(kernel.bytes), utc(kernel.used_ns).c_str(),
                  printable(kernel.architecture).c_str(),
                  printable(short_compiler(kernel.compiler)).c_str());
    text += line;
    text += kernel.problem.empty() ? printable(kernel.kernel)
                                   : kernel.name + ": " + printable(kernel.problem);
    text += "\n";
  }
  text += std::to_string(listing.kernels.size()) + " of " + std::to_string(listing.max_entries) +
          " kernels, " + describe_size(listing.bytes) + " of " + describe_size(listing.max_bytes);
  if (listing.unfinished > 0) text += ", " + std::to_string(listing.unfinished) + " unfinished";
  return text + " in '" + printable(listing.folder) + "'\n";
}

std::string cache_json(const CacheListing& listing) {
  JsonWriter out;
  out.begin_object()
      .field("folder", listing.folder)
      .field("bytes", listing.bytes)
      .field("max_bytes", listing.max_bytes)
      .field("max_entries", listing.max_entries)
      .field("unfinished", listing.unfinished)
      .key("kernels")
      .begin_array();
  for (const CachedKernel& kernel : listing.kernels) {
    out.begin_object()
        .field("name", kernel.name)
        .field("bytes", kernel.bytes)
        .field("used", utc(kernel.used_ns))
        .field("kernel", kernel.kernel)
        .field("architecture", kernel.architecture)
        .field("compiler", kernel.compiler)
        .field("problem", kernel.problem)
        .end_object();
  }
  return out.end_array().end_object().text();
}

}  // namespace forebay::tools
