// What the fake driver knows; its calls are the static functions of FakeCalls.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "tests/support/fake_driver.hpp"

namespace forebay::test {

/// Handles that look like the driver's and are used again after they were given back.
template <typename Handle>
class HandleNumbers {
 public:
  Handle take() {
    if (free_.empty()) {
      next_ += 16;
      return reinterpret_cast<Handle>(next_);
    }
    const Handle handle = free_.back();
    free_.pop_back();
    return handle;
  }
  void give(Handle handle) { free_.push_back(handle); }

 private:
  std::uintptr_t next_ = 0x1000;
  std::vector<Handle> free_;
};

/// A piece of captured work; graphs of the same kinds in the same order have the same topology.
struct FakeNode {
  std::string kind;
  std::function<void()> run;
};

/// One capture of a stream's work.
struct FakeCapture {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  bool invalidated = false;
  std::vector<FakeNode> nodes;
};

/// A stream is a queue of work; positions count the work that was given to it.
struct FakeStream {
  struct Work {
    std::function<void()> run;            // empty for a wait
    std::shared_ptr<FakeStream> awaited;  // null, or this work may not start before …
    std::uint64_t position = 0;           // … so much of that stream's work is done
    const char* kind = "order";           // as a node of a graph
  };
  std::uint64_t id = 0;
  int device = 0;
  bool held = false;
  std::uint64_t submitted = 0;
  std::uint64_t completed = 0;
  std::deque<Work> queue;
  std::shared_ptr<FakeCapture> capture;
};

/// What an event stood for when it was recorded last; never recorded counts as done.
struct FakeEvent {
  std::shared_ptr<FakeStream> stream;
  std::uint64_t position = 0;
  bool captured = false;
  [[nodiscard]] bool done() const { return stream == nullptr || stream->completed >= position; }
};

struct FakePhysical {
  int device = 0;
  std::size_t bytes = 0;
  int file = -1;            // behind all physical memory, or, made for export, its own
  std::int64_t offset = 0;  // in that file
  int mappings = 0;
  bool released = false;
  bool own_file = false;
  bool imported = false;  // the memory counts where it was made
};

struct FakeMapping {
  std::size_t bytes = 0;
  CUmemGenericAllocationHandle handle = 0;
  std::uint64_t access = 0;  // a bit for each device
};

struct FakeRegion {
  std::size_t bytes = 0;
  int device = 0;
  bool freed = false;  // by a stream that has not come to it yet
};

struct FakeGraph {
  std::vector<FakeNode> nodes;
  std::vector<CUgraphNode> kernels;  // those of them that were added as kernels
  FakeDriver::Launch launch;         // of the one that was set last
};

struct FakeModule {
  std::string image;
  bool fat = false;  // the image is a fat binary, and not kept
  std::vector<CUfunction> functions;
};

struct FakeFault {
  std::string call;
  int countdown = 0;
  CUresult result = CUDA_SUCCESS;
  bool from_then_on = false;
};

struct FakeState {
  explicit FakeState(const FakeDriver::Options& chosen);
  ~FakeState();

  // Each of the following is guarded by `mutex`.
  FakeDriver::Options options;
  std::uint64_t serial = 0;  // tells one fake's threads from another's
  bool initialised = false;
  bool deinitialised = false;
  std::vector<FakeFault> faults;
  std::vector<std::size_t> used;     // bytes, by device
  std::vector<int> retained;         // by device
  std::vector<std::uint64_t> peers;  // by device: a bit for each that may use its regions
  std::uint64_t launches = 0;
  FakeDriver::Launch last_launch;
  std::uint64_t releases_while_mapped = 0;

  int file = -1;
  std::int64_t file_end = 0;
  CUmemGenericAllocationHandle next_physical = 0x100;
  std::map<CUdeviceptr, std::size_t> reservations;
  std::map<CUdeviceptr, FakeMapping> mappings;
  std::unordered_map<CUmemGenericAllocationHandle, FakePhysical> physical;
  std::map<CUdeviceptr, FakeRegion> regions;     // cuMemAlloc
  std::map<std::uintptr_t, std::size_t> pinned;  // cuMemHostAlloc
  std::map<std::uintptr_t, std::size_t> registered;

  std::uint64_t next_stream_id = 7;
  HandleNumbers<CUstream> stream_numbers;
  std::unordered_map<CUstream, std::shared_ptr<FakeStream>> streams;
  std::vector<std::shared_ptr<FakeStream>> ending;  // destroyed with work left
  HandleNumbers<CUevent> event_numbers;
  std::unordered_map<CUevent, FakeEvent> events;
  HandleNumbers<CUgraph> graph_numbers;
  std::unordered_map<CUgraph, FakeGraph> graphs;
  HandleNumbers<CUgraphNode> node_numbers;
  HandleNumbers<CUgraphExec> exec_numbers;
  std::unordered_map<CUgraphExec, FakeGraph> execs;
  HandleNumbers<CUmodule> module_numbers;
  std::unordered_map<CUmodule, FakeModule> modules;
  HandleNumbers<CUfunction> function_numbers;

  // fake_driver_stream.cpp
  void submit(const std::shared_ptr<FakeStream>& stream, FakeStream::Work work);
  CUresult submit_to(CUstream handle, const char* kind, std::function<void()> run);
  bool run_front(FakeStream& stream);
  void pump();
  void force(FakeStream& stream, std::uint64_t position);
  void force_device(int device);
  [[nodiscard]] std::shared_ptr<FakeStream> find_stream(CUstream handle) const;

  [[nodiscard]] bool reaches(int device, int memory) const {
    return device == memory || memory != options.isolated;
  }

  // fake_driver_memory.cpp
  [[nodiscard]] bool is_device_memory(CUdeviceptr address) const;
  [[nodiscard]] bool accessible(CUdeviceptr address, std::size_t bytes, int device) const;
  void drop_physical(CUmemGenericAllocationHandle handle);
  CUresult add_region(int device, std::size_t bytes, CUdeviceptr* address);
  void drop_region(CUdeviceptr address);
};

/// This thread's side of the driver.
struct FakeThread {
  std::uint64_t serial = 0;
  int device = -1;  // of the current context; none
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
};

/// A call on its way in: holds the lock and says whether the call may go on.
class FakeCall {
 public:
  enum class Needs { nothing, driver, context };
  FakeCall(const char* name, Needs needs);
  [[nodiscard]] bool refused() const { return result_ != CUDA_SUCCESS; }
  [[nodiscard]] CUresult result() const { return result_; }
  FakeState* operator->() const { return state_.get(); }
  FakeState& operator*() const { return *state_; }
  [[nodiscard]] FakeThread& thread() const;
  /// For a call that endangers captures: invalidates those that it hits, and says so.
  [[nodiscard]] CUresult unsafe() const;
  [[nodiscard]] static std::shared_ptr<FakeState>& current();
  [[nodiscard]] static std::mutex& mutex();

 private:
  std::lock_guard<std::mutex> lock_;
  std::shared_ptr<FakeState> state_;
  CUresult result_ = CUDA_SUCCESS;
};

// Opens a call of the driver in the function that fakes it.
#define FAKE_CALL(name, needs)                         \
  const FakeCall driver(name, FakeCall::Needs::needs); \
  if (driver.refused()) {                              \
    return driver.result();                            \
  }

/// One static function for each entry of the table, named like it.
struct FakeCalls {
#define FOREBAY_DECLARE(name, version) static decltype(::name) name;
  FOREBAY_CUDA_FUNCTIONS(FOREBAY_DECLARE)
#undef FOREBAY_DECLARE
};

/// The primary context of a device, as a handle.
[[nodiscard]] CUcontext fake_context(int device);
[[nodiscard]] int fake_device_of(CUcontext context);  ///< -1 for null

}  // namespace forebay::test
