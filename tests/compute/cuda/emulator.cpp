#include "tests/compute/cuda/emulator.hpp"

#include <setjmp.h>
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
  std::unique_ptr<std::byte[]> stack = std::make_unique<std::byte[]>(kStackBytes);
  jmp_buf here;
  bool begun = false;
  bool done = false;
};

struct Scheduler {
  std::vector<Fiber> fibers;
  jmp_buf main;
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

// Jumps rather than swaps of contexts, which are calls of the operating system.
void pause(Fiber& me) {
  void* fake = nullptr;
  leave(&fake, scheduler.main_stack, scheduler.main_bytes);
  if (_setjmp(me.here) == 0) _longjmp(scheduler.main, 1);
  arrive(fake, &scheduler.main_stack, &scheduler.main_bytes);
}

// A fiber's whole life: one thread after the other.
void run_threads() {
  arrive(nullptr, &scheduler.main_stack, &scheduler.main_bytes);
  for (;;) {
    (*scheduler.thread)();
    Fiber& me = scheduler.fibers[scheduler.current];
    me.done = true;
    pause(me);
  }
}

// Until the fiber pauses.
[[gnu::noinline]] void resume(Fiber& fiber) {
  void* fake = nullptr;
  leave(&fake, fiber.stack.get(), kStackBytes);
  if (_setjmp(scheduler.main) == 0) {
    if (fiber.begun) _longjmp(fiber.here, 1);
    fiber.begun = true;
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = fiber.stack.get();
    context.uc_stack.ss_size = kStackBytes;
    context.uc_link = nullptr;
    makecontext(&context, run_threads, 0);
    setcontext(&context);
  }
  arrive(fake, nullptr, nullptr);
}

}  // namespace

void __syncthreads() {
  const unsigned me = scheduler.current;
  pause(scheduler.fibers[me]);
  threadIdx.x = me;
}

unsigned __shfl_down_sync(unsigned /*mask*/, unsigned value, unsigned distance) {
  constexpr unsigned kWarp = 32;
  static std::vector<unsigned> values;
  const unsigned me = scheduler.current;
  values.resize(scheduler.fibers.size());
  values[me] = value;
  __syncthreads();
  const bool inside = me % kWarp + distance < kWarp && me + distance < blockDim.x;
  const unsigned result = inside ? values[me + distance] : value;
  __syncthreads();
  return result;
}

namespace {

void run_block(unsigned threads) {
  for (unsigned t = 0; t < threads; ++t) scheduler.fibers[t].done = false;
  for (bool any = true; any;) {
    any = false;
    for (unsigned t = 0; t < threads; ++t) {
      Fiber& fiber = scheduler.fibers[t];
      if (fiber.done) continue;
      any = true;
      scheduler.current = t;
      threadIdx.x = t;
      resume(fiber);
    }
  }
}

void begin_grid(unsigned blocks, unsigned threads, const std::function<void()>& thread) {
  if (scheduler.fibers.size() < threads) scheduler.fibers.resize(threads);
  scheduler.thread = &thread;
  blockDim.x = threads;
  gridDim.x = blocks;
}

}  // namespace

void emulate(unsigned blocks, unsigned threads, const std::function<void()>& thread,
             unsigned waiting) {
  begin_grid(blocks, threads, thread);
  constexpr unsigned kStep = 7919;  // a prime
  for (unsigned block = 0; block < blocks; ++block) {
    const unsigned mixed = blocks - waiting;
    blockIdx.x =
        block >= mixed || mixed % kStep == 0
            ? block
            : static_cast<unsigned>(static_cast<unsigned long long>(block) * kStep % mixed);
    run_block(threads);
  }
}

void emulate_some(std::span<const unsigned> chosen, unsigned blocks, unsigned threads,
                  const std::function<void()>& thread) {
  begin_grid(blocks, threads, thread);
  for (const unsigned block : chosen) {
    blockIdx.x = block;
    run_block(threads);
  }
}

}  // namespace forebay::test
