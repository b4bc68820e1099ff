// Transfers between pageable host memory and the device through a fixed ring of pinned memory.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <span>
#include <vector>

#include "compute/worker_team.hpp"
#include "forebay/compute/backend.hpp"
#include "runtime/cuda/cuda_device.hpp"

namespace forebay::cuda {

/// The ring is cut into slots of `upload.chunk_bytes`. Large transfers are cut into pieces of a
/// slot's size: each thread of the team takes the next piece, fills one of its own slots
/// (converting on the way) and enqueues the copy, while the copies of earlier slots are under way.
/// Small ones are done by the caller alone, through slots that no large one uses: their copies may
/// be on a stream with much before them, for which a large one shall not wait.
///
/// Thread safety: none; the backend's calls are serialised.
/// Invariants: a slot is written or read by the host only while no copy of it is under way; member
/// t of the team uses slots t, t + size, t + 2 size … of those for large transfers. Cost:
/// `upload.ring_bytes` of the pinned pool and one event a slot, from the first transfer on.
class TransferRing {
 public:
  explicit TransferRing(CudaDevice& device);
  ~TransferRing();
  TransferRing(const TransferRing&) = delete;
  TransferRing& operator=(const TransferRing&) = delete;

  /// Returns when the sources may be changed; the copies are then enqueued on `stream`. After an
  /// error some of them may be. Throws OutOfMemory, DriverError.
  void upload(std::span<const compute::Backend::Upload> uploads, const Stream& stream);
  /// Waits for `stream`, then copies. Throws OutOfMemory, DriverError.
  void download(const void* source, void* target, std::size_t bytes, const Stream& stream);

  /// Makes the ring and its events now instead of at the first transfer.
  void prepare();
  /// The same for its threads.
  void start_team() {
    team_.run([](unsigned /*member*/) {});
  }

 private:
  struct Slot {
    std::byte* memory = nullptr;
    CUevent event = nullptr;
    bool pending = false;  ///< the event stands for a copy that may be under way
  };
  class Pieces;

  /// The slot once it is free.
  std::byte* acquire(Slot& slot);
  /// To be called once a copy of the slot is enqueued on `stream`.
  void mark(Slot& slot, const Stream& stream);
  /// The slots of large transfers, or of small ones, a quarter; all of them where there is only
  /// one.
  [[nodiscard]] std::span<Slot> slots_for(bool large) noexcept;
  void send(Slot& slot, const compute::Backend::Upload& piece, const Stream& stream);
  void fetch(Slot& slot, const compute::Backend::Upload& piece, const Stream& stream);
  [[nodiscard]] std::size_t team_piece(std::size_t bytes) const noexcept;
  void download_small(const void* source, void* target, std::size_t bytes, const Stream& stream);
  template <typename Move>
  void move(std::span<const compute::Backend::Upload> transfers, const Stream& stream, Move&& move);

  CudaDevice& device_;
  std::size_t chunk_bytes_;
  compute::WorkerTeam team_;
  void* ring_ = nullptr;
  std::vector<Slot> slots_;
  std::size_t next_ = 0;  ///< counts the slots that were taken without the team
};

}  // namespace forebay::cuda
