// docs/traces.md describes the format byte by byte.
#include "pool/trace/forebay_format.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

#include "forebay/pool/error.hpp"
#include "pool/trace/builder.hpp"
#include "pool/trace/readers.hpp"

namespace forebay::pool {
namespace {

// A byte above 127, then text, then both kinds of line ends: whatever mistakes the file for text on
// its way damages the first eight bytes.
constexpr std::string_view kMagic(
    "\x89"
    "FBT\r\n\x1A\n",
    8);
constexpr std::uint64_t kVersion = 1;
constexpr std::size_t kHeaderFields = 9;
constexpr std::size_t kHeaderBytes = kMagic.size() + 8 * kHeaderFields;
constexpr int kLevel = 3;
/// The least bytes of an event: its head, time and stream.
constexpr std::uint64_t kLeastEvent = 3;

/// What follows the magic, each a little-endian number of 64 bits.
struct Header {
  std::uint64_t version = kVersion;
  std::uint64_t events = 0, prologue = 0, streams = 0, failures = 0;
  std::uint64_t payload = 0;     // bytes, before compression
  std::uint64_t compressed = 0;  // bytes; the file ends after them
  std::uint64_t frame_hash = 0;
  std::uint64_t header_hash = 0;  // of everything before it

  [[nodiscard]] std::array<std::uint64_t, kHeaderFields> fields() const {
    return {version, events,     prologue,   streams,    failures,
            payload, compressed, frame_hash, header_hash};
  }
};

std::uint64_t hash(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

// Writing ----------------------------------------------------------------------------------------

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

/// Small numbers of either sign become small numbers.
std::uint64_t zigzag(std::int64_t value) {
  return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
}
std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1 ^ (~(value & 1) + 1));
}

void put_fixed(std::string& out, std::uint64_t value) {
  for (int i = 0; i < 8; ++i) out += static_cast<char>(value >> (8 * i));
}

std::string header_of(const Header& header) {
  std::string out(kMagic);
  for (const std::uint64_t field : header.fields()) put_fixed(out, field);
  return out;
}

// Reading ----------------------------------------------------------------------------------------

class Reader {
 public:
  Reader(std::string_view bytes, std::string_view name) : bytes_(bytes), name_(name) {}

  std::uint8_t byte() {
    if (bytes_.empty()) short_of();
    const auto value = static_cast<std::uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return value;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      const std::uint64_t next = byte();
      if (shift == 63 && next > 1) break;
      value |= (next & 0x7F) << shift;
      if (next < 0x80) return value;
    }
    fail_trace(name_, "a number in it is longer than 64 bits; the file is damaged");
  }
  [[nodiscard]] std::size_t left() const noexcept { return bytes_.size(); }

 private:
  [[noreturn]] void short_of() const {
    fail_trace(name_, "its events end too early; the file is damaged");
  }
  std::string_view bytes_;
  std::string_view name_;
};

Header read_header(std::string_view content, std::string_view name, std::size_t max_bytes) {
  const auto field = [content](std::size_t i) {
    std::uint64_t value = 0;
    for (std::size_t b = 8; b-- > 0;) {
      value = value << 8 | static_cast<unsigned char>(content[kMagic.size() + 8 * i + b]);
    }
    return value;
  };
  if (content.size() < kHeaderBytes) {
    fail_trace(name, "the file ends after " + std::to_string(content.size()) + " of " +
                         std::to_string(kHeaderBytes) + " bytes of its header; it was cut off");
  }
  // The version comes first and stays there, so that a newer file is called newer, not damaged.
  if (field(0) != kVersion) {
    fail_trace(name, "version " + std::to_string(field(0)) + " of forebay.trace; version " +
                         std::to_string(kVersion) + " is allowed");
  }
  const Header header{field(0), field(1), field(2), field(3), field(4),
                      field(5), field(6), field(7), field(8)};
  if (hash(content.substr(0, kHeaderBytes - 8)) != header.header_hash) {
    fail_trace(name, "the header's checksum is wrong; the file is damaged");
  }
  const std::size_t there = content.size() - kHeaderBytes;
  if (there < header.compressed) {
    fail_trace(name, "the file ends after " + std::to_string(there) + " of " +
                         std::to_string(header.compressed) + " bytes of events; it was cut off");
  }
  if (there > header.compressed) {
    fail_trace(name, std::to_string(there - header.compressed) +
                         " bytes follow the end of the trace; nothing may");
  }
  // Before anything is decompressed, and of all of the frame: some bits of one do not matter to
  // zstd, but no bit of a trace changes unseen.
  if (hash(content.substr(kHeaderBytes)) != header.frame_hash) {
    fail_trace(name, "the checksum of its events is wrong; the file is damaged");
  }
  if (header.payload > max_bytes || header.events > kMaxTraceEvents ||
      header.streams > kMaxTraceStreams || header.prologue > header.events ||
      header.payload < kLeastEvent * header.events + header.streams) {
    fail_trace(name, "the sizes in the header cannot be right; the file is damaged");
  }
  return header;
}

std::string decompress(std::string_view compressed, const Header& header, std::string_view name) {
  const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                        &ZSTD_freeDCtx);
  if (context == nullptr) fail_trace(name, "zstd does not start");
  // In pieces: the header's size may be a lie, and memory is taken only for what is there.
  std::string payload;
  std::string piece(std::size_t{1} << 18, '\0');
  ZSTD_inBuffer in{compressed.data(), compressed.size(), 0};
  while (true) {
    ZSTD_outBuffer out{piece.data(), piece.size(), 0};
    const std::size_t status = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(status) != 0) {
      fail_trace(name,
                 std::string("its compressed events are damaged: ") + ZSTD_getErrorName(status));
    }
    payload.append(piece, 0, out.pos);
    if (payload.size() > header.payload) break;
    if (status == 0 || (in.pos == in.size && out.pos < out.size)) break;
  }
  if (payload.size() != header.payload || in.pos != in.size) {
    fail_trace(name, "its compressed events have another size than the header says");
  }
  return payload;
}

void read_event(Reader& in, TraceBuilder& builder, const std::vector<std::uint64_t>& streams,
                std::int64_t* time, std::uint64_t* blocks) {
  const std::uint8_t head = in.byte();
  const std::uint64_t step = in.varint();
  if (__builtin_add_overflow(*time, unzigzag(step), time)) builder.fail("its time overflows");
  const std::uint64_t stream = in.varint();
  if (stream >= streams.size()) {
    builder.fail("stream " + std::to_string(stream) + " of " + std::to_string(streams.size()));
  }
  const std::uint64_t last = in.varint();
  const auto action = static_cast<TraceAction>(head & 3U);
  const auto alignment_log2 = static_cast<std::uint8_t>(head >> 2);
  if (action > TraceAction::use) builder.fail("action 3; alloc, free and use are 0, 1 and 2");
  if (action == TraceAction::alloc) {
    if (alignment_log2 > 47) builder.fail("an alignment of more than 2^47 bytes");
    builder.alloc(*time, (*blocks)++, last, streams[stream], alignment_log2);
    return;
  }
  if (last >= *blocks) builder.fail("it names a block that no alloc before it has made");
  const std::uint64_t block = *blocks - 1 - last;
  if (action == TraceAction::free) {
    builder.free(*time, block, streams[stream]);
  } else {
    builder.use(*time, block, streams[stream]);
  }
}

}  // namespace

std::string trace_payload(const Trace& trace) {
  std::string out;
  for (const std::uint64_t stream : trace.streams) put_varint(out, stream);
  std::uint64_t time = 0, blocks = 0;
  for (const TraceEvent& event : trace.events) {
    out += static_cast<char>(static_cast<unsigned>(event.action) |
                             static_cast<unsigned>(event.alignment_log2) << 2);
    put_varint(out, zigzag(static_cast<std::int64_t>(event.time_us - time)));
    put_varint(out, event.stream);
    if (event.action == TraceAction::alloc) {
      put_varint(out, event.size);
      ++blocks;
    } else {
      put_varint(out, blocks - 1 - event.block);  // most blocks die young
    }
    time = event.time_us;
  }
  return out;
}

std::string seal_trace(const TraceCounts& counts, std::string_view payload) {
  std::string compressed(ZSTD_compressBound(payload.size()), '\0');
  const std::size_t size =
      ZSTD_compress(compressed.data(), compressed.size(), payload.data(), payload.size(), kLevel);
  if (ZSTD_isError(size) != 0) {
    throw Error(std::string("a trace could not be compressed: ") + ZSTD_getErrorName(size));
  }
  compressed.resize(size);
  Header header{kVersion,       counts.events,    counts.prologue,
                counts.streams, counts.failures,  payload.size(),
                size,           hash(compressed), 0};
  header.header_hash = hash(std::string_view(header_of(header)).substr(0, kHeaderBytes - 8));
  return header_of(header) + compressed;
}

std::string encode_trace(const Trace& trace) {
  return seal_trace({trace.events.size(), trace.prologue, trace.streams.size(), trace.failures},
                    trace_payload(trace));
}

bool looks_like_forebay(std::string_view content) noexcept {
  // A text-mode copy keeps the first bytes at least.
  return content.substr(0, 4) == kMagic.substr(0, 4);
}

Trace read_forebay(std::string_view content, std::string_view name, const TraceOptions& options) {
  if (content.substr(0, kMagic.size()) != kMagic.substr(0, content.size())) {
    fail_trace(name,
               "the first eight bytes of a forebay.trace are damaged; was it copied as text?");
  }
  const Header header = read_header(content, name, options.max_bytes);
  const std::string payload = decompress(content.substr(kHeaderBytes), header, name);
  Reader in(payload, name);
  std::vector<std::uint64_t> streams;
  for (std::uint64_t i = 0; i < header.streams; ++i) streams.push_back(in.varint());
  TraceBuilder builder(name, "event", BlockNames::unique);
  builder.failures(header.failures);
  std::int64_t time = 0;
  std::uint64_t blocks = 0;
  for (std::uint64_t i = 0; i < header.events; ++i) {
    builder.at(i + 1);
    read_event(in, builder, streams, &time, &blocks);
    if (i + 1 == header.prologue) builder.end_prologue();
  }
  if (in.left() != 0) fail_trace(name, "bytes are left after its last event; the file is damaged");
  return builder.finish("forebay");
}

}  // namespace forebay::pool
