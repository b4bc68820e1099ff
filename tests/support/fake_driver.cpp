#include "tests/support/fake_driver.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "runtime/process.hpp"
#include "tests/support/fake_driver_state.hpp"

namespace forebay::test {
namespace {

std::atomic<std::uint64_t> g_serial{0};
std::atomic<std::uint64_t> g_calls_after_end{0};

}  // namespace

FakeState::FakeState(const FakeDriver::Options& chosen)
    : options(chosen),
      serial(++g_serial),
      used(static_cast<std::size_t>(chosen.devices)),
      retained(static_cast<std::size_t>(chosen.devices)),
      peers(static_cast<std::size_t>(chosen.devices)),
      file(memfd_create("fake_driver", MFD_CLOEXEC)) {
  if (file < 0) {
    throw std::runtime_error("the fake driver has no memory file");
  }
}

FakeState::~FakeState() {
  for (const auto& [address, bytes] : reservations) {
    munmap(reinterpret_cast<void*>(address), bytes);
  }
  for (const auto& [address, region] : regions) {
    munmap(reinterpret_cast<void*>(address), region.bytes);
  }
  for (const auto& [address, bytes] : pinned) {
    munmap(reinterpret_cast<void*>(address), bytes);
  }
  for (const auto& [handle, memory] : physical) {
    if (memory.own_file) {
      close(memory.file);
    }
  }
  close(file);
}

std::shared_ptr<FakeState>& FakeCall::current() {
  static std::shared_ptr<FakeState> state;
  return state;
}

std::mutex& FakeCall::mutex() {
  static std::mutex the_mutex;
  return the_mutex;
}

FakeThread& FakeCall::thread() const {
  thread_local FakeThread mine;
  if (mine.serial != state_->serial) {
    mine = FakeThread{};
    mine.serial = state_->serial;
  }
  return mine;
}

FakeCall::FakeCall(const char* name, Needs needs) : lock_(mutex()), state_(current()) {
  if (state_ == nullptr) {
    g_calls_after_end.fetch_add(1);
    static const bool tells = std::getenv("FOREBAY_FAKE_DRIVER_TELLS") != nullptr;
    if (tells) {
      std::fprintf(stderr, "%s was called after the driver had ended\n", name);
    }
    result_ = CUDA_ERROR_DEINITIALIZED;
    return;
  }
  if (state_->deinitialised) {
    result_ = CUDA_ERROR_DEINITIALIZED;
    return;
  }
  for (FakeFault& fault : state_->faults) {
    if (!fault.call.empty() && fault.call != name) {
      continue;
    }
    const bool due = fault.countdown == 1 || (fault.countdown <= 1 && fault.from_then_on);
    fault.countdown -= fault.countdown > 0 ? 1 : 0;
    if (due) {
      result_ = fault.result;
      return;
    }
  }
  if (needs != Needs::nothing && !state_->initialised) {
    result_ = CUDA_ERROR_NOT_INITIALIZED;
    return;
  }
  if (needs == Needs::context) {
    const int device = thread().device;
    if (device < 0) {
      result_ = CUDA_ERROR_INVALID_CONTEXT;
    } else if (state_->retained[static_cast<std::size_t>(device)] == 0) {
      result_ = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
  }
}

CUcontext fake_context(int device) {
  return reinterpret_cast<CUcontext>(std::uintptr_t{0xC000} + static_cast<std::uintptr_t>(device));
}

int fake_device_of(CUcontext context) {
  return context == nullptr ? -1
                            : static_cast<int>(reinterpret_cast<std::uintptr_t>(context) - 0xC000);
}

FakeDriver::FakeDriver(const Options& options) : api_(std::make_shared<driver::CudaApi>()) {
  {
    const std::lock_guard lock(FakeCall::mutex());
    if (FakeCall::current() != nullptr) {
      throw std::logic_error("one FakeDriver at a time");
    }
    FakeCall::current() = std::make_shared<FakeState>(options);
  }
#define FOREBAY_FILL(name, version) api_->name.set(&FakeCalls::name);
  FOREBAY_CUDA_FUNCTIONS(FOREBAY_FILL)
#undef FOREBAY_FILL
  api_->cuInit(0);
  api_->version = 13000;
  process::watch_forks();
  api_->generation = process::generation();
}

FakeDriver::~FakeDriver() {
  const std::lock_guard lock(FakeCall::mutex());
  FakeCall::current() = nullptr;
}

void FakeDriver::fail(const std::string& call, int nth, CUresult result, bool from_then_on) {
  const std::lock_guard lock(FakeCall::mutex());
  FakeCall::current()->faults.push_back({call, nth, result, from_then_on});
}

void FakeDriver::heal() {
  const std::lock_guard lock(FakeCall::mutex());
  FakeCall::current()->faults.clear();
}

void FakeDriver::deinitialise() {
  const std::lock_guard lock(FakeCall::mutex());
  FakeCall::current()->deinitialised = true;
}

void FakeDriver::hold(CUstream stream) {
  const std::lock_guard lock(FakeCall::mutex());
  FakeCall::current()->streams.at(stream)->held = true;
}

void FakeDriver::let_go(CUstream stream) {
  const std::lock_guard lock(FakeCall::mutex());
  FakeCall::current()->streams.at(stream)->held = false;
  FakeCall::current()->pump();
}

bool FakeDriver::step(CUstream stream) {
  const std::lock_guard lock(FakeCall::mutex());
  FakeState& state = *FakeCall::current();
  const bool ran = state.run_front(*state.streams.at(stream));
  state.pump();
  return ran;
}

std::size_t FakeDriver::bytes_in_use(int device) const {
  const std::lock_guard lock(FakeCall::mutex());
  return FakeCall::current()->used.at(static_cast<std::size_t>(device));
}

FakeDriver::Launch FakeDriver::last_launch() const {
  const std::lock_guard lock(FakeCall::mutex());
  return FakeCall::current()->last_launch;
}

std::uint64_t FakeDriver::launches() const {
  const std::lock_guard lock(FakeCall::mutex());
  return FakeCall::current()->launches;
}

std::uint64_t FakeDriver::releases_while_mapped() const {
  const std::lock_guard lock(FakeCall::mutex());
  return FakeCall::current()->releases_while_mapped;
}

std::string FakeDriver::leaks() const {
  const std::lock_guard lock(FakeCall::mutex());
  const FakeState& state = *FakeCall::current();
  std::string text;
  const auto count = [&text](const char* kind, std::size_t number) {
    if (number != 0) {
      text += std::string(text.empty() ? "" : ", ") + std::to_string(number) + " " + kind;
    }
  };
  count("reservations", state.reservations.size());
  count("mappings", state.mappings.size());
  count("physical handles", state.physical.size());
  count("regions", state.regions.size());
  count("pinned regions", state.pinned.size());
  count("registered ranges", state.registered.size());
  count("streams", state.streams.size());
  count("events", state.events.size());
  count("graphs", state.graphs.size() + state.execs.size());
  count("modules", state.modules.size());
  for (const int retained : state.retained) {
    count("retained contexts", static_cast<std::size_t>(retained));
  }
  return text;
}

std::uint64_t FakeDriver::calls_after_end() { return g_calls_after_end.load(); }

}  // namespace forebay::test
