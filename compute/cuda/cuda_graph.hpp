// Captured work of a CUDA stream, as an executable graph.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <memory>

#include "forebay/compute/backend.hpp"
#include "runtime/cuda/cuda_device.hpp"

namespace forebay::cuda {

/// An executable graph, with whatever it needs beside tensors.
class CudaGraph final : public compute::Recording {
 public:
  /// Takes over `exec`; it holds `size` nodes and needs `kept`.
  CudaGraph(CudaDevice& device, CUgraphExec exec, std::size_t size, std::shared_ptr<void> kept)
      : device_(device), exec_(exec), size_(size), kept_(std::move(kept)) {}
  ~CudaGraph() override;

  /// One call of the driver. Throws DriverError.
  void replay(const Stream& stream) override;
  [[nodiscard]] std::size_t size() const noexcept override { return size_; }
  /// Holds the work of `graph` from now on; false, and nothing has changed, if the driver refuses.
  [[nodiscard]] bool update(CUgraph graph, std::size_t size, std::shared_ptr<void> kept) noexcept;

 private:
  CudaDevice& device_;
  CUgraphExec exec_;
  std::size_t size_;
  std::shared_ptr<void> kept_;
};

/// The stream captures from here on, until one of the two below. The mode is relaxed: nothing that
/// this thread or another one does elsewhere ends the capture. Throws DriverError.
void begin_capture(CudaDevice& device, const Stream& stream);
/// Ends it: null if `earlier` took the work over, else a graph of its own, which is made whenever
/// the driver does not update. Throws DriverError; the stream captures no longer then, either.
[[nodiscard]] std::unique_ptr<CudaGraph> end_capture(CudaDevice& device, const Stream& stream,
                                                     CudaGraph* earlier,
                                                     std::shared_ptr<void> kept);
/// Ends it and forgets the work.
void abandon_capture(CudaDevice& device, const Stream& stream) noexcept;

}  // namespace forebay::cuda
