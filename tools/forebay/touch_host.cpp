#include "tools/forebay/touch_host.hpp"

#include <algorithm>
#include <cstring>

namespace forebay::tools {
namespace {

constexpr std::uint64_t kCell = pool::kMinAlignment;

/// Calls `visit` with each stamped piece of a block: up to four bytes at the start of each cell.
template <typename Visit>
void each_piece(void* block, std::uint64_t bytes, Visit&& visit) {
  auto* at = static_cast<unsigned char*>(block);
  for (std::uint64_t offset = 0; offset < bytes; offset += kCell) {
    visit(at + offset, std::min<std::uint64_t>(sizeof(std::uint32_t), bytes - offset));
  }
}

}  // namespace

void HostTouch::stamp(void* block, std::uint64_t bytes, std::uint32_t number,
                      std::uint32_t /*stream*/) {
  each_piece(block, bytes, [number](unsigned char* piece, std::uint64_t length) {
    std::memcpy(piece, &number, length);
  });
}

void HostTouch::check(void* block, std::uint64_t bytes, std::uint32_t number,
                      std::uint32_t /*stream*/, std::uint32_t /*writer*/) {
  each_piece(block, bytes, [&](const unsigned char* piece, std::uint64_t length) {
    if (std::memcmp(piece, &number, length) != 0 && !lost_) lost_ = number;
  });
}

}  // namespace forebay::tools
