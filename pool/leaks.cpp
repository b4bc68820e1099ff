#include "forebay/pool/leaks.hpp"

#include <algorithm>
#include <cstdio>

#include "pool/utf8.hpp"

namespace forebay::pool {
namespace {

/// A JSON string; bytes that are no UTF-8 become '?'.
void write(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    const auto byte = static_cast<unsigned char>(text[at]);
    if (length == 0) {
      out += '?';
    } else if (byte < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", byte);
      out += escape;
    } else if (byte == '"' || byte == '\\') {
      (out += '\\') += text[at];
    } else {
      out.append(text.substr(at, length));
    }
    at += std::max<std::size_t>(length, 1);
  }
  out += '"';
}

void field(std::string& out, const char* name, std::uint64_t value) {
  ((out += ", \"") += name) += "\": " + std::to_string(value);
}

std::string plain(std::string_view text) {
  std::string result(text);
  std::replace_if(
      result.begin(), result.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, '?');
  return result;
}

}  // namespace

std::string_view to_string(StackMode mode) noexcept {
  switch (mode) {
    case StackMode::off:
      return "off";
    case StackMode::sampled:
      return "sampled";
    case StackMode::all:
      return "all";
  }
  return "unknown";
}

std::string to_json(const LeakReport& report) {
  std::string out = "{\"stacks\": ";
  write(out, to_string(report.stacks));
  field(out, "sample_bytes", report.sample_bytes);
  out += ", \"symbols\": ";
  write(out, report.symbols);
  field(out, "blocks", report.blocks);
  field(out, "bytes", report.bytes);
  out += ", \"groups\": [";
  for (const LeakGroup& group : report.groups) {
    out += out.back() == '[' ? "{\"tag\": " : ", {\"tag\": ";
    write(out, group.tag);
    field(out, "blocks", group.blocks);
    field(out, "bytes", group.bytes);
    field(out, "estimated_bytes", group.estimated_bytes);
    field(out, "first", group.first);
    field(out, "last", group.last);
    out += ", \"site\": [";
    for (const std::string& frame : group.site) {
      if (out.back() != '[') out += ", ";
      write(out, frame);
    }
    out += "]}";
  }
  return out + "]}";
}

std::string to_text(const LeakReport& report, std::size_t most) {
  std::string out = std::to_string(report.blocks) + " live blocks of " +
                    std::to_string(report.bytes) + " bytes in all\n";
  if (report.stacks == StackMode::sampled && report.blocks > 0) {
    out += "call stacks of one allocation in about every " + std::to_string(report.sample_bytes) +
           " bytes; estimates stand for the others\n";
  }
  std::size_t shown = 0;
  std::uint64_t blocks = 0, bytes = 0;
  for (const LeakGroup& group : report.groups) {
    if (shown < most) {
      ++shown;
      out += "  " + plain(group.tag) + ": " + std::to_string(group.blocks) + " blocks, " +
             std::to_string(group.bytes) + " bytes";
      if (report.stacks == StackMode::sampled) {
        out += group.site.empty()
                   ? ", not sampled"
                   : ", standing for about " + std::to_string(group.estimated_bytes) + " bytes";
      }
      out += '\n';
      for (const std::string& frame : group.site) out += "      " + plain(frame) + '\n';
    } else {
      blocks += group.blocks;
      bytes += group.bytes;
    }
  }
  if (blocks > 0) {
    out += "  and " + std::to_string(report.groups.size() - shown) +
           " more groups: " + std::to_string(blocks) + " blocks, " + std::to_string(bytes) +
           " bytes\n";
  }
  return out;
}

}  // namespace forebay::pool
