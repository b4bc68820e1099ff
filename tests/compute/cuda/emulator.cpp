#include "tests/compute/cuda/emulator.hpp"

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace forebay::test {

Index threadIdx, blockIdx, blockDim, gridDim;

namespace {

constexpr std::size_t kStackBytes = std::size_t{128} << 10;

constexpr unsigned kWarp = 32;

/// Whom a thread waits for, those that have ended aside.
enum class Wait : std::uint8_t { none, warp, block };

struct Fiber {
  std::unique_ptr<std::byte[]> stack = std::make_unique<std::byte[]>(kStackBytes);
  jmp_buf here;
  bool begun = false;
  bool done = false;
  Wait wait = Wait::none;
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

namespace {

void wait_for(Wait others) {
  const unsigned me = scheduler.current;
  scheduler.fibers[me].wait = others;
  pause(scheduler.fibers[me]);
  threadIdx.x = me;
}

// What thread `from` of the warp gives, or the own value if there is none.
unsigned exchange(unsigned value, unsigned from) {
  static std::vector<unsigned> values;
  const unsigned me = scheduler.current;
  values.resize(scheduler.fibers.size());
  values[me] = value;
  wait_for(Wait::warp);
  const unsigned other = me / kWarp * kWarp + from;
  const unsigned result = from < kWarp && other < blockDim.x ? values[other] : value;
  wait_for(Wait::warp);
  return result;
}

}  // namespace

void __syncthreads() { wait_for(Wait::block); }

unsigned __shfl_sync(unsigned /*mask*/, unsigned value, unsigned lane) {
  return exchange(value, lane);
}

unsigned __shfl_down_sync(unsigned /*mask*/, unsigned value, unsigned distance) {
  return exchange(value, scheduler.current % kWarp + distance);
}

namespace {

// Whether all of those from `first` on wait for `others`.
bool all_wait(unsigned first, unsigned count, Wait others) {
  return std::all_of(scheduler.fibers.begin() + first, scheduler.fibers.begin() + first + count,
                     [others](const Fiber& fiber) { return fiber.done || fiber.wait == others; });
}

// Every thread that waits for nobody goes on, whole warps and the block once all of them wait.
void run_block(unsigned threads) {
  for (unsigned t = 0; t < threads; ++t) {
    scheduler.fibers[t].done = false;
    scheduler.fibers[t].wait = Wait::none;
  }
  for (unsigned live = threads; live != 0;) {
    const bool block = all_wait(0, threads, Wait::block);
    bool warp = false;
    unsigned resumed = 0;
    live = 0;
    for (unsigned t = 0; t < threads; ++t) {
      if (t % kWarp == 0) warp = all_wait(t, std::min(kWarp, threads - t), Wait::warp);
      Fiber& fiber = scheduler.fibers[t];
      if (fiber.done) continue;
      ++live;
      if ((fiber.wait == Wait::warp && !warp) || (fiber.wait == Wait::block && !block)) continue;
      fiber.wait = Wait::none;
      scheduler.current = t;
      threadIdx.x = t;
      resume(fiber);
      ++resumed;
    }
    if (live != 0 && resumed == 0) {
      std::fprintf(stderr, "threads of an emulated block wait for each other\n");
      std::abort();
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
