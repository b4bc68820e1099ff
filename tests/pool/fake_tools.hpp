// Memory with content for the simulated source, whose addresses are only numbers.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "forebay/pool/memory_tools.hpp"
#include "forebay/pool/simulated.hpp"

namespace forebay::pool::test {

/// Keeps bytes by pages of 4 KiB. Memory that is not mapped with access is refused, and counted.
class FakeTools final : public MemoryTools {
 public:
  explicit FakeTools(std::shared_ptr<SimulatedSource> source) : source_(std::move(source)) {}

  bool fill(Address address, std::size_t bytes, std::uint8_t value,
            StreamId stream) noexcept override {
    const std::lock_guard lock(mutex_);
    if (!reachable(address, bytes) || refuse) return false;
    ++fills;
    last_stream = stream;
    each_piece(address, bytes, [&](Page& page, std::size_t at, std::size_t, std::size_t length) {
      if (length == kPage) {
        page = {value, nullptr};
      } else {
        std::memset(&page.byte(at), value, length);
      }
    });
    return true;
  }
  bool read(Address address, std::size_t bytes, StreamId stream, void* to) noexcept override {
    const std::lock_guard lock(mutex_);
    if (!reachable(address, bytes) || refuse) return false;
    ++reads;
    last_stream = stream;
    each_piece(address, bytes,
               [&](Page& page, std::size_t at, std::size_t offset, std::size_t length) {
                 auto* const there = static_cast<std::uint8_t*>(to) + offset;
                 if (page.bytes == nullptr) {
                   std::memset(there, page.value, length);
                 } else {
                   std::memcpy(there, &page.byte(at), length);
                 }
               });
    return true;
  }
  /// What a kernel would do.
  void poke(const void* block, std::size_t offset, std::uint8_t value) {
    const std::lock_guard lock(mutex_);
    byte(reinterpret_cast<Address>(block) + offset) = value;
  }
  [[nodiscard]] std::uint8_t peek(const void* block, std::size_t offset) {
    const std::lock_guard lock(mutex_);
    return byte(reinterpret_cast<Address>(block) + offset);
  }

  bool refuse = false;
  int fills = 0, reads = 0, unreachable = 0;
  StreamId last_stream = 0;

 private:
  static constexpr std::size_t kPage = 4096;
  /// One value for all, until a part of it differs.
  struct Page {
    std::uint8_t value = 0;
    std::unique_ptr<std::array<std::uint8_t, kPage>> bytes;
    std::uint8_t& byte(std::size_t at) {
      if (bytes == nullptr) {
        bytes = std::make_unique<std::array<std::uint8_t, kPage>>();
        bytes->fill(value);
      }
      return (*bytes)[at];
    }
  };
  bool reachable(Address address, std::size_t bytes) {
    if (source_->accessible(address, bytes)) return true;
    ++unreachable;
    return false;
  }
  template <typename Visit>
  void each_piece(Address address, std::size_t bytes, Visit&& visit) {
    for (std::size_t offset = 0; offset < bytes;) {
      const std::size_t in_page = (address + offset) % kPage;
      const std::size_t length = std::min(bytes - offset, kPage - in_page);
      visit(pages_[(address + offset) / kPage], in_page, offset, length);
      offset += length;
    }
  }
  std::uint8_t& byte(Address address) { return pages_[address / kPage].byte(address % kPage); }

  std::shared_ptr<SimulatedSource> source_;
  std::mutex mutex_;
  std::unordered_map<Address, Page> pages_;
};

}  // namespace forebay::pool::test
