// Launches of kernels, as graphs of one node where a driver enqueues those in less time.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>

#include "runtime/cuda/cuda_device.hpp"

namespace forebay::cuda {

/// One launch of a kernel that has one parameter.
struct KernelLaunch {
  CUfunction function = nullptr;
  unsigned blocks = 1;
  unsigned threads = 1;             ///< of a block
  std::size_t shared_bytes = 0;     ///< of a block, dynamic
  void* parameter = nullptr;        ///< its bytes
  std::size_t parameter_bytes = 0;  ///< that the kernel declares
};

/// Enqueues kernels. A kernel with a short parameter has a graph of its own, in which the parameter
/// is exchanged before each launch: the driver's calls for that take less time than its one for a
/// launch, and the device begins sooner (docs/benchmarks/h200-2026-12-02-launches.md). Whatever
/// else is launched goes by cuLaunchKernel, as do all work of a stream that is captured and what
/// the driver refuses as a graph.
///
/// Thread safety: none; the backend's calls are serialised. REQUIRES: functions stay loaded.
/// Invariant: at most kGraphs graphs, about 100 KiB of device memory each. A kernel without one
/// takes the place of one that has rested for kRest launches, so that kernels which take turns do
/// not push each other out. Once the driver refused a graph, for want of memory say, there is no
/// new one for as many launches.
class Launcher {
 public:
  static constexpr std::size_t kGraphs = 64;
  static constexpr std::uint64_t kRest = 16 * kGraphs;
  /// Of a parameter that is exchanged in a graph: beyond, that takes longer than a launch.
  static constexpr std::size_t kShortBytes = 1024;

  explicit Launcher(CudaDevice& device);
  ~Launcher();
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  /// What the driver answers. REQUIRES: the device is current.
  [[nodiscard]] CUresult launch(const KernelLaunch& launch, const Stream& stream);
  [[nodiscard]] std::size_t graphs() const noexcept { return graphs_.size(); }

 private:
  struct Graph {
    CUfunction function;
    CUstream stream;  // its launches follow each other there
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    CUgraphExec exec = nullptr;
    std::uint64_t used = 0;  // the number of its last launch
  };
  using Place = std::list<Graph>::iterator;

  [[nodiscard]] bool by_graph(const KernelLaunch& launch, CUstream stream) const;
  [[nodiscard]] Graph* graph_of(const KernelLaunch& launch, CUstream stream);
  [[nodiscard]] bool make(Graph& graph, const KernelLaunch& launch) const;
  /// Makes no graphs for a while; the first time a line says so.
  void pause();
  void destroy(const Graph& graph) const noexcept;
  void drop(Place place) noexcept;

  CudaDevice& device_;
  const bool enabled_;
  std::uint64_t launches_ = 0;
  std::uint64_t pause_until_ = 0;  // the launch from which on graphs are made again
  std::list<Graph> graphs_;        // most recently used first
  std::unordered_map<CUfunction, Place> places_;
};

}  // namespace forebay::cuda
