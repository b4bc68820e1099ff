// One entry of a cache on disk as bytes: a checked header, what it was made from, and its content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace forebay {

/// 128 bits of XXH3. They find an entry and see damage; whether an entry is the one that was asked
/// for is decided by all of its material, so no strength against made collisions is needed.
struct Digest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend bool operator==(const Digest&, const Digest&) = default;
};

[[nodiscard]] Digest digest_of(std::string_view bytes) noexcept;
/// 32 digits, the highest first.
[[nodiscard]] std::string hex(const Digest& digest);

namespace cache_entry {

/// Changes with the layout of entries, but for the magic, the schema and the last 16 bytes of 96,
/// which stay, so that another version's entry can be told from a damaged one. Part of an entry's
/// name too, so that versions of forebay that share a folder do not take each other's entries for
/// damaged.
inline constexpr std::uint32_t kSchema = 1;

/// The layout, all numbers little-endian:
///      0  magic, 8 bytes            48  digest of the material, 16
///      8  schema, 4                 64  digest of the content, 16
///     12  bytes of this header, 4   80  digest of the 80 bytes before, 16
///     16  bytes of the material, 8  96  material, content
///     24  bytes of the content, 8
///     32  bytes of the entry, 8; and 8 of zero
inline constexpr std::size_t kHeaderBytes = 96;
/// Longer files are no entries; the limit bounds what a damaged folder can cost.
inline constexpr std::size_t kMaxBytes = std::size_t{64} << 20;

/// The name of the file of what `material` makes: 32 digits and ".kernel".
[[nodiscard]] std::string name_of(std::string_view material);
/// Whether a file's name is that of an entry.
[[nodiscard]] bool is_name(std::string_view name) noexcept;

/// The whole entry. `material` is everything that `content` was made from.
[[nodiscard]] std::string encode(std::string_view material, std::string_view content);

/// The parts of an entry, in the bytes that were checked.
struct Parts {
  std::string_view material;
  std::string_view content;
  std::string problem;   ///< what is wrong with the entry, empty if nothing is
  bool foreign = false;  ///< that it is another schema's, in a right header, and nothing else
};
/// Checks every bit of an entry; no part of it is used before.
[[nodiscard]] Parts check(std::string_view bytes);

}  // namespace cache_entry
}  // namespace forebay
