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
    each_piece(address, bytes, [&](std::uint8_t* at, std::size_t, std::size_t length) {
      std::memset(at, value, length);
    });
    return true;
  }
  bool read(Address address, std::size_t bytes, StreamId stream, void* to) noexcept override {
    const std::lock_guard lock(mutex_);
    if (!reachable(address, bytes) || refuse) return false;
    ++reads;
    last_stream = stream;
    each_piece(address, bytes, [&](std::uint8_t* at, std::size_t offset, std::size_t length) {
      std::memcpy(static_cast<std::uint8_t*>(to) + offset, at, length);
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
      visit(&byte(address + offset), offset, length);
      offset += length;
    }
  }
  std::uint8_t& byte(Address address) { return pages_[address / kPage][address % kPage]; }

  std::shared_ptr<SimulatedSource> source_;
  std::mutex mutex_;
  std::unordered_map<Address, std::array<std::uint8_t, kPage>> pages_;
};

}  // namespace forebay::pool::test
