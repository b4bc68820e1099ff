// The loops of `forebay bench alloc`, for any allocator.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "forebay/pool/error.hpp"
#include "tools/forebay/allocator.hpp"

namespace forebay::tools {

/// What one loop measured. A latency is that of a pair (one allocation and one free): the time of a
/// batch by its pairs; percentiles are over batches.
struct AllocRow {
  std::string allocator;
  std::string name;  ///< of the case
  std::uint64_t bytes = 0;
  std::uint64_t live = 0;  ///< other blocks that live meanwhile
  unsigned threads = 1;
  std::uint64_t pairs = 0;
  double p50_ns = 0;
  double p99_ns = 0;
  double pairs_per_s = 0;

  std::vector<float> times;  ///< of all batches, in nanoseconds a pair
  double seconds = 0;        ///< from the beginning to the end, of all turns
};
/// `row` becomes what it and another turn of the same case measured together.
void add_turn(AllocRow& row, const AllocRow& turn);

/// What to measure.
struct AllocCase {
  enum class Kind : std::uint8_t {
    pair,           ///< an allocation and its free, on top of `live` blocks of the same size
    churn,          ///< one of `live` blocks goes and another comes; sizes from 256 to `bytes`, as
                    ///< many between each number and its double
    lifo,           ///< a batch of allocations, freed from the last to the first
    fifo,           ///< … freed from the first to the last
    own_streams,    ///< pairs on `threads` threads, each on a stream of its own
    shared_stream,  ///< … all on one stream
    producer_consumer,  ///< half of the threads allocate what the other half frees, on own streams
  };
  Kind kind = Kind::pair;
  std::uint64_t bytes = 0;
  std::uint64_t live = 0;
  unsigned threads = 1;
};
[[nodiscard]] const char* name_of(AllocCase::Kind kind) noexcept;
/// Whether the case is about what threads share, so that it has a control.
[[nodiscard]] bool has_control(AllocCase::Kind kind) noexcept;

/// The live blocks of a case took longer than they may.
class TooSlow : public Error {
 public:
  using Error::Error;
};

/// How long one case may take.
struct AllocLimits {
  double row_s = 0.3;   ///< seconds of measuring
  double setup_s = 10;  ///< seconds for the live blocks, before that
};

/// Runs a case. Every block is given back before it returns, and also when it throws. Throws
/// OutOfMemory where the allocator has no memory, TooSlow when the live blocks take longer than the
/// limit. REQUIRES: as many streams as the case has threads.
[[nodiscard]] AllocRow run_case(Allocator& allocator, const AllocCase& what,
                                const AllocLimits& limits);
/// The same loop without sharing anything: thread i works on `allocators[i]`, on its first stream.
/// REQUIRES: has_control(what.kind), and an allocator for each thread.
[[nodiscard]] AllocRow run_control(const std::vector<std::unique_ptr<Allocator>>& allocators,
                                   const AllocCase& what, const AllocLimits& limits);

}  // namespace forebay::tools
