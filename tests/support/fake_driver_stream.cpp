// The fake driver's streams, events, captures and graphs, and the copies that they order.
#include <algorithm>

#include "tests/support/fake_driver_state.hpp"

namespace forebay::test {

bool FakeState::run_front(FakeStream& stream) {
  if (stream.queue.empty()) {
    return false;
  }
  FakeStream::Work& work = stream.queue.front();
  if (work.awaited != nullptr && work.awaited->completed < work.position) {
    return false;
  }
  const std::function<void()> run = std::move(work.run);
  stream.queue.pop_front();
  if (run) {
    run();
  }
  ++stream.completed;
  return true;
}

void FakeState::pump() {
  for (bool progress = true; progress;) {
    progress = false;
    const auto drain = [&](FakeStream& stream) {
      while (!stream.held && run_front(stream)) {
        progress = true;
      }
    };
    for (const auto& [handle, stream] : streams) {
      drain(*stream);
    }
    for (const auto& stream : ending) {
      drain(*stream);
    }
  }
  std::erase_if(ending, [](const auto& stream) { return stream->queue.empty(); });
}

void FakeState::force(FakeStream& stream, std::uint64_t position) {
  while (stream.completed < position) {
    const FakeStream::Work& front = stream.queue.front();
    if (front.awaited != nullptr) {
      const std::shared_ptr<FakeStream> awaited = front.awaited;
      force(*awaited, front.position);
    }
    run_front(stream);
  }
}

void FakeState::force_device(int device) {
  std::vector<std::shared_ptr<FakeStream>> all = ending;
  for (const auto& [handle, stream] : streams) {
    all.push_back(stream);
  }
  for (const auto& stream : all) {
    if (stream->device == device) {
      force(*stream, stream->submitted);
    }
  }
  pump();
}

void FakeState::submit(const std::shared_ptr<FakeStream>& stream, FakeStream::Work work) {
  if (stream->capture != nullptr) {
    stream->capture->nodes.push_back({work.kind, std::move(work.run)});
    return;
  }
  stream->queue.push_back(std::move(work));
  ++stream->submitted;
  pump();
}

CUresult FakeState::submit_to(CUstream handle, const char* kind, std::function<void()> run) {
  const auto stream = find_stream(handle);
  if (stream == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  submit(stream, {std::move(run), nullptr, 0, kind});
  return CUDA_SUCCESS;
}

std::shared_ptr<FakeStream> FakeState::find_stream(CUstream handle) const {
  const auto found = streams.find(handle);
  return found != streams.end() ? found->second : nullptr;
}

CUresult FakeCall::unsafe() const {
  const CUstreamCaptureMode mode = thread().mode;
  if (mode == CU_STREAM_CAPTURE_MODE_RELAXED) {
    return CUDA_SUCCESS;
  }
  bool hit = false;
  for (const auto& [handle, stream] : state_->streams) {
    FakeCapture* capture = stream->capture.get();
    if (capture == nullptr || capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED) {
      continue;
    }
    const bool own = capture->thread == std::this_thread::get_id();
    const bool anybodys =
        mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (own || anybodys) {
      capture->invalidated = true;
      hit = true;
    }
  }
  return hit ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult FakeCalls::cuStreamCreate(CUstream* handle, unsigned int) {
  FAKE_CALL("cuStreamCreate", context);
  auto stream = std::make_shared<FakeStream>();
  stream->id = driver->next_stream_id++;
  stream->device = driver.thread().device;
  *handle = driver->stream_numbers.take();
  driver->streams[*handle] = std::move(stream);
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuStreamDestroy(CUstream handle) {
  FAKE_CALL("cuStreamDestroy", driver);
  const auto found = driver->streams.find(handle);
  if (found == driver->streams.end()) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  // What the stream was given still runs.
  found->second->held = false;
  driver->ending.push_back(found->second);
  driver->streams.erase(found);
  driver->stream_numbers.give(handle);
  driver->pump();
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuStreamGetId(CUstream handle, unsigned long long* id) {
  FAKE_CALL("cuStreamGetId", driver);
  const auto stream = driver->find_stream(handle);
  if (stream == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (stream->capture != nullptr) {
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  *id = stream->id;
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuStreamQuery(CUstream handle) {
  FAKE_CALL("cuStreamQuery", driver);
  const auto stream = driver->find_stream(handle);
  if (stream == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (const CUresult unsafe = driver.unsafe(); unsafe != CUDA_SUCCESS) {
    return unsafe;
  }
  return stream->queue.empty() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult FakeCalls::cuStreamSynchronize(CUstream handle) {
  FAKE_CALL("cuStreamSynchronize", driver);
  const auto stream = driver->find_stream(handle);
  if (stream == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (const CUresult unsafe = driver.unsafe(); unsafe != CUDA_SUCCESS) {
    return unsafe;
  }
  if (stream->capture != nullptr) {
    stream->capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  driver->force(*stream, stream->submitted);
  driver->pump();
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuStreamWaitEvent(CUstream handle, CUevent event, unsigned int) {
  FAKE_CALL("cuStreamWaitEvent", driver);
  const auto stream = driver->find_stream(handle);
  const auto found = driver->events.find(event);
  if (stream == nullptr || found == driver->events.end()) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  driver->submit(stream, {[] {}, found->second.stream, found->second.position});
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data) {
  FAKE_CALL("cuLaunchHostFunc", driver);
  return driver->submit_to(handle, "host", [function, data] { function(data); });
}

CUresult FakeCalls::cuEventCreate(CUevent* event, unsigned int) {
  FAKE_CALL("cuEventCreate", context);
  *event = driver->event_numbers.take();
  driver->events[*event] = {};
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuEventDestroy(CUevent event) {
  FAKE_CALL("cuEventDestroy", driver);
  if (driver->events.erase(event) == 0) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  driver->event_numbers.give(event);
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuEventRecord(CUevent event, CUstream handle) {
  FAKE_CALL("cuEventRecord", driver);
  const auto stream = driver->find_stream(handle);
  const auto found = driver->events.find(event);
  if (stream == nullptr || found == driver->events.end()) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  found->second.captured = stream->capture != nullptr;
  if (!found->second.captured) {
    found->second.stream = stream;
    found->second.position = stream->submitted + 1;
  }
  driver->submit(stream, {[] {}, nullptr, 0});
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuEventQuery(CUevent event) {
  FAKE_CALL("cuEventQuery", driver);
  const auto found = driver->events.find(event);
  if (found == driver->events.end()) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (const CUresult unsafe = driver.unsafe(); unsafe != CUDA_SUCCESS) {
    return unsafe;
  }
  if (found->second.captured) {
    return CUDA_ERROR_CAPTURED_EVENT;
  }
  return found->second.done() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult FakeCalls::cuEventSynchronize(CUevent event) {
  FAKE_CALL("cuEventSynchronize", driver);
  const auto found = driver->events.find(event);
  if (found == driver->events.end()) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (const CUresult unsafe = driver.unsafe(); unsafe != CUDA_SUCCESS) {
    return unsafe;
  }
  if (found->second.captured) {
    return CUDA_ERROR_CAPTURED_EVENT;
  }
  if (!found->second.done()) {
    driver->force(*found->second.stream, found->second.position);
    driver->pump();
  }
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuEventElapsedTime(float*, CUevent, CUevent) {
  FAKE_CALL("cuEventElapsedTime", driver);
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult FakeCalls::cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  FAKE_CALL("cuThreadExchangeStreamCaptureMode", driver);
  std::swap(*mode, driver.thread().mode);
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  FAKE_CALL("cuStreamIsCapturing", driver);
  const auto stream = driver->find_stream(handle);
  if (stream == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  *status = stream->capture == nullptr     ? CU_STREAM_CAPTURE_STATUS_NONE
            : stream->capture->invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                           : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode mode) {
  FAKE_CALL("cuStreamBeginCapture", driver);
  const auto stream = driver->find_stream(handle);
  if (stream == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (stream->capture != nullptr) {
    return CUDA_ERROR_ILLEGAL_STATE;
  }
  stream->capture = std::make_shared<FakeCapture>();
  stream->capture->mode = mode;
  stream->capture->thread = std::this_thread::get_id();
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  FAKE_CALL("cuStreamEndCapture", driver);
  const auto stream = driver->find_stream(handle);
  if (stream == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (stream->capture == nullptr) {
    return CUDA_ERROR_ILLEGAL_STATE;
  }
  const std::shared_ptr<FakeCapture> capture = std::move(stream->capture);
  *graph = nullptr;
  if (capture->invalidated) {
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  }
  *graph = driver->graph_numbers.take();
  driver->graphs[*graph].nodes = std::move(capture->nodes);
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuGraphCreate(CUgraph* graph, unsigned) {
  FAKE_CALL("cuGraphCreate", driver);
  *graph = driver->graph_numbers.take();
  driver->graphs[*graph] = {};
  return CUDA_SUCCESS;
}

namespace {

FakeDriver::Launch launch_of(const CUDA_KERNEL_NODE_PARAMS& kernel) {
  FakeDriver::Launch launch{.function = kernel.func,
                            .blocks = kernel.gridDimX * kernel.gridDimY * kernel.gridDimZ,
                            .threads = kernel.blockDimX * kernel.blockDimY * kernel.blockDimZ,
                            .shared_bytes = kernel.sharedMemBytes};
  std::memcpy(&launch.parameter, kernel.kernelParams[0], sizeof launch.parameter);
  return launch;
}

}  // namespace

CUresult FakeCalls::cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode*,
                                         std::size_t, const CUDA_KERNEL_NODE_PARAMS* kernel) {
  FAKE_CALL("cuGraphAddKernelNode", driver);
  const auto found = driver->graphs.find(graph);
  if (found == driver->graphs.end() || kernel->func == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!driver->options.count_launches) return CUDA_ERROR_NOT_SUPPORTED;
  *node = driver->node_numbers.take();
  found->second.nodes.push_back({"kernel", [] {}});
  found->second.kernels.push_back(*node);
  found->second.launch = launch_of(*kernel);
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                   const CUDA_KERNEL_NODE_PARAMS* kernel) {
  FAKE_CALL("cuGraphExecKernelNodeSetParams", driver);
  const auto found = driver->execs.find(exec);
  if (found == driver->execs.end() || kernel->func == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::vector<CUgraphNode>& kernels = found->second.kernels;
  // A node goes with the graph that it was added to.
  const bool there = std::any_of(driver->graphs.begin(), driver->graphs.end(), [&](const auto& g) {
    const std::vector<CUgraphNode>& own = g.second.kernels;
    return std::find(own.begin(), own.end(), node) != own.end();
  });
  if (!there || std::find(kernels.begin(), kernels.end(), node) == kernels.end()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  found->second.launch = launch_of(*kernel);
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph,
                                                unsigned long long) {
  FAKE_CALL("cuGraphInstantiateWithFlags", driver);
  const auto found = driver->graphs.find(graph);
  if (found == driver->graphs.end()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *exec = driver->exec_numbers.take();
  driver->execs[*exec] = found->second;
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuGraphLaunch(CUgraphExec exec, CUstream handle) {
  FAKE_CALL("cuGraphLaunch", driver);
  const auto found = driver->execs.find(exec);
  if (found == driver->execs.end()) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  const auto stream = driver->find_stream(handle);
  if (stream != nullptr && stream->capture != nullptr) {
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;  // unknown here: it may become a child
  }
  if (!found->second.kernels.empty()) driver->last_launch = found->second.launch;
  driver->launches += found->second.kernels.size();
  return driver->submit_to(handle, "graph", [nodes = found->second.nodes] {
    for (const FakeNode& node : nodes) {
      node.run();
    }
  });
}

CUresult FakeCalls::cuGraphExecUpdate(CUgraphExec exec, CUgraph graph,
                                      CUgraphExecUpdateResultInfo* info) {
  FAKE_CALL("cuGraphExecUpdate", driver);
  const auto target = driver->execs.find(exec);
  const auto source = driver->graphs.find(graph);
  if (target == driver->execs.end() || source == driver->graphs.end()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *info = {};
  if (!std::equal(target->second.nodes.begin(), target->second.nodes.end(),
                  source->second.nodes.begin(), source->second.nodes.end(),
                  [](const FakeNode& a, const FakeNode& b) { return a.kind == b.kind; })) {
    info->result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  }
  target->second.nodes = source->second.nodes;
  info->result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, std::size_t* count) {
  FAKE_CALL("cuGraphGetNodes", driver);
  const auto found = driver->graphs.find(graph);
  if (found == driver->graphs.end() || nodes != nullptr) {
    return CUDA_ERROR_INVALID_VALUE;  // the nodes themselves have no handles here
  }
  *count = found->second.nodes.size();
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuGraphExecDestroy(CUgraphExec exec) {
  FAKE_CALL("cuGraphExecDestroy", driver);
  if (driver->execs.erase(exec) == 0) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  driver->exec_numbers.give(exec);
  return CUDA_SUCCESS;
}

CUresult FakeCalls::cuGraphDestroy(CUgraph graph) {
  FAKE_CALL("cuGraphDestroy", driver);
  const auto found = driver->graphs.find(graph);
  if (found == driver->graphs.end()) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  for (const CUgraphNode node : found->second.kernels) driver->node_numbers.give(node);
  driver->graphs.erase(found);
  driver->graph_numbers.give(graph);
  return CUDA_SUCCESS;
}

}  // namespace forebay::test
