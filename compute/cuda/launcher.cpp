#include "compute/cuda/launcher.hpp"

#include <iterator>
#include <new>
#include <string>

#include "forebay/runtime/log.hpp"

namespace forebay::cuda {
namespace {

/// `parameters` outlives what is returned.
CUDA_KERNEL_NODE_PARAMS node_of(const KernelLaunch& launch, void** parameters) {
  CUDA_KERNEL_NODE_PARAMS node{};
  node.func = launch.function;
  node.gridDimX = launch.blocks;
  node.gridDimY = 1;
  node.gridDimZ = 1;
  node.blockDimX = launch.threads;
  node.blockDimY = 1;
  node.blockDimZ = 1;
  node.sharedMemBytes = static_cast<unsigned>(launch.shared_bytes);
  node.kernelParams = parameters;
  return node;
}

}  // namespace

Launcher::Launcher(CudaDevice& device)
    : device_(device), enabled_(device.config().kernels.graphs) {}

Launcher::~Launcher() {
  if (!device_.enter()) return;
  for (const Graph& graph : graphs_) destroy(graph);
}

CUresult Launcher::launch(const KernelLaunch& launch, const Stream& stream) {
  const driver::CudaApi& api = device_.api();
  const CUstream queue = native(stream);
  void* parameters[] = {launch.parameter};
  ++launches_;
  if (by_graph(launch, queue)) {
    // Another thread's capture, of another stream, is none of a graph's business.
    const RelaxedCapture relaxed(api);
    if (Graph* const graph = graph_of(launch, queue)) {
      const CUDA_KERNEL_NODE_PARAMS node = node_of(launch, parameters);
      // A launch that is under way keeps the parameter that it had.
      if (api.cuGraphExecKernelNodeSetParams(graph->exec, graph->node, &node) == CUDA_SUCCESS &&
          api.cuGraphLaunch(graph->exec, queue) == CUDA_SUCCESS) {
        return CUDA_SUCCESS;
      }
      // Its first launch takes memory, too. What is wrong with the launch is said below.
      drop(graphs_.begin());
      pause();
    }
  }
  return api.cuLaunchKernel(launch.function, launch.blocks, 1, 1, launch.threads, 1, 1,
                            static_cast<unsigned>(launch.shared_bytes), queue, parameters, nullptr);
}

bool Launcher::by_graph(const KernelLaunch& launch, CUstream stream) const {
  if (!enabled_ || launch.parameter_bytes > kShortBytes) return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return device_.api().cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
         status == CU_STREAM_CAPTURE_STATUS_NONE;
}

// The first of the list, or null: then a graph would gain nothing, or there is none to be had.
Launcher::Graph* Launcher::graph_of(const KernelLaunch& launch, CUstream stream) {
  const auto known = places_.find(launch.function);
  if (known != places_.end()) {
    if (known->second->stream != stream) return nullptr;
    graphs_.splice(graphs_.begin(), graphs_, known->second);
  } else {
    if (launches_ < pause_until_) return nullptr;
    if (graphs_.size() >= kGraphs) {
      if (launches_ - graphs_.back().used <= kRest) return nullptr;
      drop(std::prev(graphs_.end()));
    }
    Graph graph{.function = launch.function, .stream = stream};
    if (!make(graph, launch)) {
      pause();
      return nullptr;
    }
    try {
      graphs_.push_front(graph);
      places_.emplace(launch.function, graphs_.begin());
    } catch (const std::bad_alloc&) {
      if (!graphs_.empty() && graphs_.front().exec == graph.exec) graphs_.pop_front();
      destroy(graph);
      throw;
    }
  }
  graphs_.front().used = launches_;
  return &graphs_.front();
}

bool Launcher::make(Graph& graph, const KernelLaunch& launch) const {
  const driver::CudaApi& api = device_.api();
  void* parameters[] = {launch.parameter};
  const CUDA_KERNEL_NODE_PARAMS node = node_of(launch, parameters);
  if (api.cuGraphCreate(&graph.graph, 0) == CUDA_SUCCESS &&
      api.cuGraphAddKernelNode(&graph.node, graph.graph, nullptr, 0, &node) == CUDA_SUCCESS &&
      api.cuGraphInstantiateWithFlags(&graph.exec, graph.graph, 0) == CUDA_SUCCESS) {
    return true;
  }
  destroy(graph);
  return false;
}

void Launcher::pause() {
  if (pause_until_ == 0) {
    log(LogLevel::warn,
        "the driver refused a graph for a kernel of " + device_.id() +
            "; kernels without one are launched directly for a while, which takes longer");
  }
  pause_until_ = launches_ + kRest;
}

void Launcher::destroy(const Graph& graph) const noexcept {
  const RelaxedCapture relaxed(device_.api());
  // One that runs is freed by the driver when it is done.
  if (graph.exec != nullptr) device_.api().cuGraphExecDestroy(graph.exec);
  if (graph.graph != nullptr) device_.api().cuGraphDestroy(graph.graph);
}

void Launcher::drop(Place place) noexcept {
  destroy(*place);
  places_.erase(place->function);
  graphs_.erase(place);
}

}  // namespace forebay::cuda
