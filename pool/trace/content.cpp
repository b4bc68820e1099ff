// Files and gzip: from a name to bytes.
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>

#include "pool/trace/builder.hpp"
#include "pool/trace/readers.hpp"

namespace forebay::pool {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 18;

struct Inflater {
  Inflater() { good = inflateInit2(&stream, 15 + 16) == Z_OK; }  // 15: any window, 16: gzip only
  ~Inflater() {
    if (good) inflateEnd(&stream);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  z_stream stream{};
  bool good = false;
};

[[noreturn]] void too_long(std::string_view name, std::size_t max_bytes, const char* what) {
  fail_trace(name, std::string(what) + " more than " + std::to_string(max_bytes) +
                       " bytes, which is too much for a trace");
}

}  // namespace

std::string file_content(const std::string& file, std::size_t max_bytes,
                         bool (*worth_reading)(std::string_view)) {
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  std::string content;
  const auto chunk = std::make_unique<char[]>(kChunk);
  while (in.read(chunk.get(), kChunk) || in.gcount() > 0) {
    const bool first = content.empty();
    content.append(chunk.get(), static_cast<std::size_t>(in.gcount()));
    if (content.size() > max_bytes) too_long(file, max_bytes, "the file has");
    if (first && worth_reading != nullptr && !worth_reading(content)) break;
  }
  if (!in.is_open() || in.bad()) {
    const std::string why = errno != 0 ? std::strerror(errno) : "reading failed";
    fail_trace(file, "the file cannot be read: " + why + "; name a trace that is there");
  }
  return content;
}

bool looks_like_gzip(std::string_view content) noexcept {
  return content.size() >= 2 && content[0] == '\x1F' && content[1] == '\x8B';
}

std::string gunzip(std::string_view content, std::string_view name, std::size_t max_bytes) {
  Inflater inflater;
  if (!inflater.good) fail_trace(name, "zlib does not start");
  z_stream& stream = inflater.stream;
  std::string out;
  const auto chunk = std::make_unique<char[]>(kChunk);
  int status = Z_OK;
  while (!content.empty() || status == Z_OK) {
    if (status == Z_STREAM_END) {  // another member follows
      if (content.find_first_not_of('\0') == std::string_view::npos) break;  // padding
      if (!looks_like_gzip(content)) {
        fail_trace(name, "gzip is followed by " + std::to_string(content.size()) +
                             " bytes that are no gzip; only more of it, or zeros, may follow");
      }
      inflateReset(&stream);
    }
    const std::size_t some = std::min(content.size(), kChunk);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
    stream.avail_in = static_cast<uInt>(some);
    stream.next_out = reinterpret_cast<Bytef*>(chunk.get());
    stream.avail_out = kChunk;
    status = inflate(&stream, Z_NO_FLUSH);
    content.remove_prefix(some - stream.avail_in);
    const std::size_t made = kChunk - stream.avail_out;
    out.append(chunk.get(), made);
    if (out.size() > max_bytes) too_long(name, max_bytes, "gzip holds");
    if (status == Z_BUF_ERROR || (status == Z_OK && content.empty() && made == 0)) {
      fail_trace(name, "gzip ends too early, after " + std::to_string(out.size()) +
                           " bytes of content; the file was cut off");
    }
    if (status != Z_OK && status != Z_STREAM_END) {
      fail_trace(name, "gzip is damaged after " + std::to_string(out.size()) +
                           " bytes of content: " +
                           (stream.msg != nullptr ? stream.msg : "its content does not match"));
    }
  }
  return out;
}

}  // namespace forebay::pool
