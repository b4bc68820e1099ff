// What is known of the blocks of the span engine, where it can be read without the engine's lock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>

#include "pool/span_engine.hpp"
#include "pool/units.hpp"

namespace forebay::pool {

/// A block that is an extent of its own.
///
/// Thread safety: `user` says whose mutex guards the rest. Under the engine lock it becomes a
/// stream with that stream's mutex held, and nobody once the block was freed; another stream that
/// frees the block becomes its user with the former one's mutex held. So whoever locks has to look
/// again. While it is not null, the extent is a used one and the index knows the block. A
/// line of the processor's cache each, since blocks of different streams lie side by side.
struct alignas(64) SpanBlock {
  std::atomic<StreamState*> user{nullptr};  // who allocated or freed it; null: this is no block
  std::atomic<bool> freed{false};           // parked by the user's cache, or on its way
  bool shared = false;                      // other streams use it too
  ExtentId id = kNoExtent;
  Address address = 0;
  std::size_t bytes = 0;
  std::size_t requested = 0;
  const char* tag = nullptr;
};

/// The records by extent. They never move, and go with the table, so that a stale look at one is
/// harmless.
///
/// Thread safety: `at` may be called at any time for a record that was made; `make` under the
/// engine lock. Cost of `at`: two loads.
class SpanBlocks {
 public:
  [[nodiscard]] SpanBlock& at(ExtentId id) const noexcept {
    const std::size_t place = id + kFirst;
    const unsigned chunk = log2_floor(place);
    return chunks_[chunk].load(std::memory_order_acquire)[place - (std::size_t{1} << chunk)];
  }
  /// Makes the record of an extent if there is none yet. Throws std::bad_alloc.
  void make(ExtentId id) {
    const unsigned chunk = log2_floor(id + kFirst);
    if (chunks_[chunk].load(std::memory_order_relaxed) != nullptr) return;
    const std::size_t records = std::size_t{1} << chunk;
    owned_[chunk] = std::make_unique<SpanBlock[]>(records);
    chunks_[chunk].store(owned_[chunk].get(), std::memory_order_release);
    metadata_bytes_ += records * sizeof(SpanBlock);
  }
  [[nodiscard]] std::size_t metadata_bytes() const noexcept { return metadata_bytes_; }

 private:
  // Each chunk is as long as all before it together, from 128 records on.
  static constexpr std::size_t kFirst = 128;
  std::array<std::atomic<SpanBlock*>, 34> chunks_{};
  std::array<std::unique_ptr<SpanBlock[]>, 34> owned_;
  std::size_t metadata_bytes_ = 0;
};

}  // namespace forebay::pool
