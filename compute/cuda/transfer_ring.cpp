#include "compute/cuda/transfer_ring.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <thread>

#include "compute/convert.hpp"

namespace forebay::cuda {

using compute::Backend;

namespace {

/// Below this the team would cost more to wake than it saves.
constexpr std::size_t kTeamBytes = std::size_t{1} << 20;
constexpr std::size_t kSmallestPiece = std::size_t{128} << 10;
constexpr std::size_t kPageBytes = 4096;
constexpr unsigned kDefaultThreads = 8;

std::size_t slot_count(const UploadConfig& config) {
  return std::max<std::size_t>(config.ring_bytes / config.chunk_bytes, 1);
}

/// Of so many slots, those that small transfers use.
std::size_t small_slots(std::size_t count) { return std::max<std::size_t>(count / 4, 1); }

unsigned team_size(const UploadConfig& config) {
  const unsigned cores = std::max(std::thread::hardware_concurrency(), 1U);
  const unsigned wanted = config.threads == 0 ? std::min(kDefaultThreads, cores) : config.threads;
  const std::size_t slots = slot_count(config);
  const std::size_t large = slots == 1 ? 1 : slots - small_slots(slots);
  return static_cast<unsigned>(std::min<std::size_t>(wanted, large));
}

}  // namespace

/// Hands out pieces of transfers, each at most a slot's size. Thread safety: any thread.
class TransferRing::Pieces {
 public:
  Pieces(std::span<const Backend::Upload> transfers, std::size_t bytes)
      : transfers_(transfers), bytes_(bytes) {}

  bool next(Backend::Upload& piece) {
    const std::lock_guard lock(mutex_);
    while (index_ < transfers_.size() && done_ == transfers_[index_].count) {
      ++index_;
      done_ = 0;
    }
    if (index_ == transfers_.size()) return false;
    const Backend::Upload& all = transfers_[index_];
    piece = all;
    piece.source = static_cast<const std::byte*>(all.source) + done_ * size_of(all.source_type);
    piece.target = static_cast<std::byte*>(all.target) + done_ * size_of(all.target_type);
    piece.count = std::min(bytes_ / size_of(all.target_type), all.count - done_);
    done_ += piece.count;
    return true;
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    index_ = transfers_.size();
  }

 private:
  std::span<const Backend::Upload> transfers_;
  std::size_t bytes_;
  std::mutex mutex_;
  std::size_t index_ = 0;  // mutex_
  std::size_t done_ = 0;   // mutex_; elements of transfers_[index_]
};

TransferRing::TransferRing(CudaDevice& device)
    : device_(device),
      chunk_bytes_(std::min(device.config().upload.chunk_bytes, device.config().upload.ring_bytes)),
      team_(team_size(device.config().upload)) {}

TransferRing::~TransferRing() {
  const bool alive = device_.enter();
  for (const Slot& slot : slots_) {
    if (slot.event == nullptr) continue;
    if (alive) {
      device_.api().cuEventSynchronize(slot.event);
      device_.api().cuEventDestroy(slot.event);
    }
    device_.counters().events.fetch_sub(1, std::memory_order_relaxed);
  }
  pool::Pool(device_.pinned_pool()).deallocate(ring_, device_.default_stream().id());
}

void TransferRing::prepare() {
  if (!slots_.empty() && slots_.back().event != nullptr) return;
  const driver::CudaApi& api = device_.api();
  const std::size_t count = slot_count(device_.config().upload);
  if (ring_ == nullptr) {
    ring_ = pool::Pool(device_.pinned_pool())
                .allocate(count * chunk_bytes_, device_.default_stream().id(),
                          {.tag = "compute.transfers"});
    slots_.resize(count);
  }
  for (std::size_t i = 0; i < count; ++i) {
    Slot& slot = slots_[i];
    slot.memory = static_cast<std::byte*>(ring_) + i * chunk_bytes_;
    if (slot.event != nullptr) continue;
    check(api, api.cuEventCreate(&slot.event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    device_.counters().events.fetch_add(1, std::memory_order_relaxed);
  }
}

std::byte* TransferRing::acquire(Slot& slot) {
  if (slot.pending) {
    check(device_.api(), device_.api().cuEventSynchronize(slot.event), "cuEventSynchronize");
    slot.pending = false;
  }
  return slot.memory;
}

void TransferRing::mark(Slot& slot, const Stream& stream) {
  const auto queue = native(stream);
  const CUresult recorded = device_.api().cuEventRecord(slot.event, queue);
  // The copy is enqueued all the same; without an event the slot is free only once the stream is.
  if (recorded != CUDA_SUCCESS) device_.api().cuStreamSynchronize(queue);
  check(device_.api(), recorded, "cuEventRecord");
  slot.pending = true;
}

std::span<TransferRing::Slot> TransferRing::slots_for(bool large) noexcept {
  const std::span<Slot> all(slots_);
  if (all.size() == 1) return all;
  const std::size_t small = small_slots(all.size());
  return large ? all.subspan(small) : all.first(small);
}

void TransferRing::send(Slot& slot, const Backend::Upload& piece, const Stream& stream) {
  std::byte* const memory = acquire(slot);
  compute::convert(piece.source, piece.source_type, memory, piece.target_type, piece.count);
  check(device_.api(),
        device_.api().cuMemcpyHtoDAsync(reinterpret_cast<CUdeviceptr>(piece.target), memory,
                                        piece.count * size_of(piece.target_type), native(stream)),
        "cuMemcpyHtoDAsync");
  mark(slot, stream);
}

void TransferRing::fetch(Slot& slot, const Backend::Upload& piece, const Stream& stream) {
  const std::size_t bytes = piece.count * size_of(piece.target_type);
  std::byte* const memory = acquire(slot);
  check(device_.api(),
        device_.api().cuMemcpyDtoHAsync(memory, reinterpret_cast<CUdeviceptr>(piece.source), bytes,
                                        native(stream)),
        "cuMemcpyDtoHAsync");
  mark(slot, stream);
  std::memcpy(piece.target, acquire(slot), bytes);
}

// Two pieces for each thread at least, unless they would be too small for a copy of their own.
std::size_t TransferRing::team_piece(std::size_t bytes) const noexcept {
  const std::size_t share = bytes / (2 * team_.size()) / kPageBytes * kPageBytes;
  return std::clamp(share, std::min(kSmallestPiece, chunk_bytes_), chunk_bytes_);
}

template <typename Move>
void TransferRing::move(std::span<const Backend::Upload> transfers, const Stream& stream,
                        Move&& move) {
  device_.make_current();
  // Waiting for our own events must not end a capture of somebody else's.
  const RelaxedCapture relaxed(device_.api());
  prepare();
  std::size_t bytes = 0;
  for (const Backend::Upload& transfer : transfers) {
    bytes += transfer.count * size_of(transfer.target_type);
  }
  const bool large = bytes > kTeamBytes;
  const bool alone = !large || team_.size() == 1;
  const std::span<Slot> slots = slots_for(large);
  Pieces pieces(transfers, alone ? chunk_bytes_ : team_piece(bytes));
  if (alone) {
    Backend::Upload piece;
    while (pieces.next(piece)) move(slots[next_++ % slots.size()], piece, stream);
    return;
  }
  team_.run([&](unsigned member) {
    device_.make_current();
    const RelaxedCapture relaxed_here(device_.api());
    try {
      Backend::Upload piece;
      for (std::size_t i = member; pieces.next(piece); i += team_.size()) {
        if (i >= slots.size()) i = member;
        move(slots[i], piece, stream);
      }
    } catch (...) {
      pieces.stop();
      throw;
    }
  });
}

void TransferRing::upload(std::span<const Backend::Upload> uploads, const Stream& stream) {
  move(uploads, stream, [this](Slot& slot, const Backend::Upload& piece, const Stream& on) {
    send(slot, piece, on);
  });
}

void TransferRing::download_small(const void* source, void* target, std::size_t bytes,
                                  const Stream& stream) {
  device_.make_current();
  const RelaxedCapture relaxed(device_.api());
  prepare();
  const std::span<Slot> slots = slots_for(false);
  std::byte* const memory = acquire(slots[next_++ % slots.size()]);
  const auto queue = native(stream);
  check(
      device_.api(),
      device_.api().cuMemcpyDtoHAsync(memory, reinterpret_cast<CUdeviceptr>(source), bytes, queue),
      "cuMemcpyDtoHAsync");
  check(device_.api(), device_.api().cuStreamSynchronize(queue), "cuStreamSynchronize");
  std::memcpy(target, memory, bytes);
}

void TransferRing::download(const void* source, void* target, std::size_t bytes,
                            const Stream& stream) {
  if (bytes == 0) {
    stream.synchronize();
    return;
  }
  if (bytes <= chunk_bytes_) {
    download_small(source, target, bytes, stream);
    return;
  }
  // Types do not matter on the way back.
  const Backend::Upload whole{source, DType::u8, target, DType::u8, bytes};
  move({&whole, 1}, stream, [this](Slot& slot, const Backend::Upload& piece, const Stream& on) {
    fetch(slot, piece, on);
  });
}

}  // namespace forebay::cuda
