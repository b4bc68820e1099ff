#include "compute/cuda/cuda_graph.hpp"

#include <utility>

namespace forebay::cuda {
namespace {

/// What a capture gave, until it is made executable.
class Template {
 public:
  Template(CudaDevice& device, const Stream& stream) : device_(device) {
    const driver::CudaApi& api = device_.api();
    const CUresult result = api.cuStreamEndCapture(native(stream), &graph_);
    if (result == CUDA_SUCCESS) return;
    abandon_capture(device_, stream);
    throw_driver_error(api, result, "cuStreamEndCapture");
  }
  ~Template() { device_.api().cuGraphDestroy(graph_); }
  Template(const Template&) = delete;
  Template& operator=(const Template&) = delete;

  [[nodiscard]] CUgraph get() const noexcept { return graph_; }
  [[nodiscard]] std::size_t size() const {
    std::size_t nodes = 0;
    check(device_.api(), device_.api().cuGraphGetNodes(graph_, nullptr, &nodes), "cuGraphGetNodes");
    return nodes;
  }

 private:
  CudaDevice& device_;
  CUgraph graph_ = nullptr;
};

}  // namespace

CudaGraph::~CudaGraph() {
  if (!device_.enter()) return;
  const RelaxedCapture relaxed(device_.api());
  // One that runs is freed by the driver when it is done.
  device_.api().cuGraphExecDestroy(exec_);
}

void CudaGraph::replay(const Stream& stream) {
  device_.make_current();
  check(device_.api(), device_.api().cuGraphLaunch(exec_, native(stream)), "cuGraphLaunch");
}

bool CudaGraph::update(CUgraph graph, std::size_t size, std::shared_ptr<void> kept) noexcept {
  CUgraphExecUpdateResultInfo info{};
  if (device_.api().cuGraphExecUpdate(exec_, graph, &info) != CUDA_SUCCESS) return false;
  size_ = size;
  kept_ = std::move(kept);
  return true;
}

void begin_capture(CudaDevice& device, const Stream& stream) {
  device.make_current();
  const driver::CudaApi& api = device.api();
  check(api, api.cuStreamBeginCapture(native(stream), CU_STREAM_CAPTURE_MODE_RELAXED),
        "cuStreamBeginCapture");
}

std::unique_ptr<CudaGraph> end_capture(CudaDevice& device, const Stream& stream, CudaGraph* earlier,
                                       std::shared_ptr<void> kept) {
  (void)device.enter();  // whether or not it is current, the capture has to end
  const driver::CudaApi& api = device.api();
  const Template graph(device, stream);
  const std::size_t size = graph.size();
  if (earlier != nullptr && earlier->update(graph.get(), size, kept)) return nullptr;
  CUgraphExec exec = nullptr;
  check(api, api.cuGraphInstantiateWithFlags(&exec, graph.get(), 0), "cuGraphInstantiateWithFlags");
  return std::make_unique<CudaGraph>(device, exec, size, std::move(kept));
}

void abandon_capture(CudaDevice& device, const Stream& stream) noexcept {
  const driver::CudaApi& api = device.api();
  if (!api.usable()) return;
  (void)device.enter();
  // A driver that refuses to end a capture is asked once more: one that has ended answers so.
  for (int attempt = 0; attempt < 2; ++attempt) {
    CUgraph graph = nullptr;
    const CUresult result = api.cuStreamEndCapture(native(stream), &graph);
    if (graph != nullptr) api.cuGraphDestroy(graph);
    if (result == CUDA_SUCCESS) return;
  }
}

}  // namespace forebay::cuda
