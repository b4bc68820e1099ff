// Counters of a device that the layers above fill and every statistics dump carries.
#pragma once

#include <atomic>
#include <cstdint>

namespace forebay {

using Counter = std::atomic<std::uint64_t>;

/// Adds to a counter whose writers are serialised, as those of launches and of `fusion` are by the
/// lock of the device's compute engine: it is read at any time, but an addition needs no atomic
/// instruction. Others that add to one of these need that lock, and `count`, too.
inline void count(Counter& counter, std::uint64_t more = 1) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

/// `kernels` of forebay.stats/1.
struct KernelCounters {
  Counter loaded{0};  ///< kernels that are loaded now
  Counter memory_hits{0};
  Counter disk_hits{0};
  Counter disk_written{0};   ///< entries written to the cache on disk
  Counter disk_evicted{0};   ///< entries that went because of its limits
  Counter disk_doubtful{0};  ///< entries that could not be trusted, deleted and compiled again
  Counter compiled{0};
  Counter failed{0};
  Counter interpreted_launches{0};  ///< by `count`
  Counter compiled_launches{0};     ///< by `count`
  Counter compile_us{0};
  Counter compile_wait_us{0};  ///< the part of it that somebody waited for
  Counter queued{0};           ///< kernels that wait to be compiled now
  Counter dropped{0};          ///< kernels that a full queue or the device's end left uncompiled
};

/// Why an expression ended and became a launch; `fusion.ends` of forebay.stats/1. By `count`.
struct FusionEndCounters {
  Counter read{0};          ///< somebody wanted the value
  Counter consumer{0};      ///< a consumer that cannot be fused (matmul, view, …)
  Counter max_ops{0};       ///< the limit on operations of a program
  Counter max_inputs{0};    ///< the limit on leaves of a program
  Counter max_scalars{0};   ///< the backend's limit on constants of a program
  Counter max_height{0};    ///< the limit on the height of an expression
  Counter max_outputs{0};   ///< the backend's limit on what a program stores: a launch left out
                            ///< values that somebody holds
  Counter pinned_bytes{0};  ///< the limit on bytes kept alive by an expression alone
};

/// `fusion` of forebay.stats/1.
struct FusionCounters {
  Counter programs{0};    ///< distinct programs known now
  Counter operations{0};  ///< operations executed in programs, ever; by `count`
  Counter launches{0};    ///< programs run, ever; by `count`
  Counter reused{0};      ///< values written into the memory of an input, ever; by `count`
  Counter plans{0};       ///< matrix-product plans known now
  FusionEndCounters ends;
};

/// `autograd` of forebay.stats/1.
struct AutogradCounters {
  Counter live_nodes{0};
};

/// `graphs` of forebay.stats/1.
struct GraphCounters {
  Counter live{0};      ///< graphs that exist now
  Counter captured{0};  ///< graphs made, ever
  Counter replays{0};
  Counter updated{0};  ///< graphs that another capture changed in place
  Counter rebuilt{0};  ///< … or that had to be made anew for it
};

/// One of these belongs to each device. Thread safety: relaxed atomics throughout.
struct DeviceCounters {
  KernelCounters kernels;
  FusionCounters fusion;
  AutogradCounters autograd;
  GraphCounters graphs;
  Counter events{0};         ///< events that exist now
  Counter tensor_tables{0};  ///< optimizer tables built, ever
};

}  // namespace forebay
