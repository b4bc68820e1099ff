#include "tests/compute/cuda/emulator.hpp"

#include <ucontext.h>

#include <cstddef>
#include <memory>
#include <vector>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace forebay::test {

Index threadIdx, blockIdx, blockDim, gridDim;

namespace {

constexpr std::size_t kStackBytes = std::size_t{128} << 10;

struct Fiber {
  ucontext_t context{};
  std::unique_ptr<std::byte[]> stack = std::make_unique<std::byte[]>(kStackBytes);
  bool done = false;
};

struct Scheduler {
  std::vector<Fiber> fibers;
  ucontext_t main{};
  const void* main_stack = nullptr;
  std::size_t main_bytes = 0;
  unsigned current = 0;
  const std::function<void()>* thread = nullptr;
};
Scheduler scheduler;

// AddressSanitizer has to know which stack is in use.
void leave(void** fake, const void* stack, std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(fake, stack, bytes);
#else
  (void)fake, (void)stack, (void)bytes;
#endif
}
void arrive(void* fake, const void** stack, std::size_t* bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake, stack, bytes);
#else
  (void)fake, (void)stack, (void)bytes;
#endif
}

void run_thread() {
  arrive(nullptr, &scheduler.main_stack, &scheduler.main_bytes);
  (*scheduler.thread)();
  Fiber& me = scheduler.fibers[scheduler.current];
  me.done = true;
  leave(nullptr, scheduler.main_stack, scheduler.main_bytes);
  swapcontext(&me.context, &scheduler.main);
}

}  // namespace

void __syncthreads() {
  const unsigned me = scheduler.current;
  void* fake = nullptr;
  leave(&fake, scheduler.main_stack, scheduler.main_bytes);
  swapcontext(&scheduler.fibers[me].context, &scheduler.main);
  arrive(fake, &scheduler.main_stack, &scheduler.main_bytes);
  threadIdx.x = me;
}

void emulate(unsigned blocks, unsigned threads, const std::function<void()>& thread) {
  if (scheduler.fibers.size() < threads) scheduler.fibers.resize(threads);
  scheduler.thread = &thread;
  blockDim.x = threads;
  gridDim.x = blocks;
  constexpr unsigned kStep = 7919;  // a prime
  for (unsigned block = 0; block < blocks; ++block) {
    blockIdx.x =
        blocks % kStep == 0
            ? block
            : static_cast<unsigned>(static_cast<unsigned long long>(block) * kStep % blocks);
    for (unsigned t = 0; t < threads; ++t) {
      Fiber& fiber = scheduler.fibers[t];
      fiber.done = false;
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = fiber.stack.get();
      fiber.context.uc_stack.ss_size = kStackBytes;
      fiber.context.uc_link = nullptr;
      makecontext(&fiber.context, run_thread, 0);
    }
    for (bool any = true; any;) {
      any = false;
      for (unsigned t = 0; t < threads; ++t) {
        Fiber& fiber = scheduler.fibers[t];
        if (fiber.done) continue;
        any = true;
        scheduler.current = t;
        threadIdx.x = t;
        void* fake = nullptr;
        leave(&fake, fiber.stack.get(), kStackBytes);
        swapcontext(&scheduler.main, &fiber.context);
        arrive(fake, nullptr, nullptr);
      }
    }
  }
}

}  // namespace forebay::test
