#include "tools/forebay/alloc_bench.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "tests/support/catch.hpp"
#include "tools/forebay/batches.hpp"

using namespace forebay;
using namespace forebay::tools;
using Kind = AllocCase::Kind;

namespace {

/// Hands out numbers, and keeps an account of who has what.
class Ledger final : public Allocator {
 public:
  const char* name() const noexcept override { return "ledger"; }
  void enter_thread() override {
    const std::lock_guard lock(mutex_);
    threads.insert(std::this_thread::get_id());
  }
  void* allocate(std::size_t bytes, unsigned stream) override {
    const std::lock_guard lock(mutex_);
    if (calls++ == fail_at) throw OutOfMemory("no more", "");
    streams.insert(stream);
    live[++next_] = bytes;
    most = std::max(most, live.size());
    sizes.insert(bytes);
    return reinterpret_cast<void*>(next_);
  }
  void free(void* block, std::size_t bytes, unsigned stream) noexcept override {
    if (block == nullptr) return;
    const std::lock_guard lock(mutex_);
    free_streams.insert(stream);
    const auto found = live.find(reinterpret_cast<std::uintptr_t>(block));
    if (found == live.end() || found->second != bytes) {
      ++wrong;
      return;
    }
    newest_first += found == std::prev(live.end()) ? 1 : 0;
    live.erase(found);
  }

  std::uint64_t calls = 0, fail_at = ~std::uint64_t{0}, wrong = 0, newest_first = 0;
  std::size_t most = 0;
  std::map<std::uintptr_t, std::size_t> live;
  std::set<unsigned> streams, free_streams;
  std::set<std::size_t> sizes;
  std::set<std::thread::id> threads;

 private:
  std::mutex mutex_;
  std::uintptr_t next_ = 0;
};

constexpr AllocLimits kShort{0.005, 10};

}  // namespace

TEST_CASE("every case frees what it allocates, on the streams and with the blocks that it says") {
  for (const Kind kind : {Kind::pair, Kind::churn, Kind::lifo, Kind::fifo, Kind::own_streams,
                          Kind::shared_stream, Kind::producer_consumer}) {
    const unsigned threads = has_control(kind) ? 4 : 1;
    const std::uint64_t live = kind == Kind::pair || kind == Kind::churn ? 50 : 0;
    INFO(name_of(kind));
    Ledger ledger;
    const AllocRow row = run_case(ledger, {kind, 4096, live, threads}, kShort);
    CHECK(ledger.live.empty());
    CHECK(ledger.wrong == 0);
    CHECK(ledger.threads.size() == threads);
    CHECK(row.allocator == "ledger");
    CHECK(row.name == name_of(kind));
    CHECK(row.bytes == 4096);
    CHECK(row.live == live);
    CHECK(row.threads == threads);
    CHECK(row.pairs >= kBatchPairs);
    CHECK(row.pairs <= ledger.calls);
    CHECK(row.p50_ns > 0);
    CHECK(row.p99_ns >= row.p50_ns);
    CHECK(row.pairs_per_s > 0);
    switch (kind) {
      case Kind::pair:
        CHECK(ledger.most == 51);
        break;
      case Kind::churn:
        CHECK(ledger.most == 50);
        CHECK(ledger.sizes.size() > 40);
        CHECK(*ledger.sizes.begin() >= 256);
        CHECK(*ledger.sizes.rbegin() <= 4096);
        break;
      case Kind::lifo:
        CHECK(ledger.newest_first == ledger.calls);
        break;
      case Kind::fifo:
        CHECK(ledger.newest_first == ledger.calls / kBatchPairs);
        break;
      case Kind::own_streams:
        CHECK(ledger.streams == std::set<unsigned>{0, 1, 2, 3});
        CHECK(ledger.free_streams == ledger.streams);
        break;
      case Kind::shared_stream:
        CHECK(ledger.streams == std::set<unsigned>{0});
        break;
      case Kind::producer_consumer:
        CHECK(ledger.streams == std::set<unsigned>{0, 2});
        CHECK(ledger.free_streams == std::set<unsigned>{1, 3});
        break;
    }
  }
}

TEST_CASE("a control gives each thread an allocator of its own") {
  for (const Kind kind : {Kind::own_streams, Kind::shared_stream, Kind::producer_consumer}) {
    INFO(name_of(kind));
    std::vector<std::unique_ptr<Allocator>> ledgers;
    for (int i = 0; i < 2; ++i) ledgers.push_back(std::make_unique<Ledger>());
    const AllocRow row = run_control(ledgers, {kind, 256, 0, 2}, kShort);
    CHECK(row.allocator == "control");
    for (const auto& allocator : ledgers) {
      const auto& ledger = static_cast<const Ledger&>(*allocator);
      CHECK(ledger.threads.size() == 1);
      CHECK(ledger.streams == std::set<unsigned>{0});
      CHECK(ledger.live.empty());
      CHECK(ledger.calls > 0);
    }
  }
}

TEST_CASE("an allocator that runs out ends the case, and loses no block by it") {
  for (const Kind kind : {Kind::pair, Kind::churn, Kind::lifo, Kind::fifo, Kind::own_streams,
                          Kind::shared_stream, Kind::producer_consumer}) {
    for (const std::uint64_t fail_at : {0, 7, 25, 500}) {
      INFO(name_of(kind) << " at " << fail_at);
      Ledger ledger;
      ledger.fail_at = fail_at;
      const unsigned threads = has_control(kind) ? 4 : 1;
      CHECK_THROWS_AS(run_case(ledger, {kind, 4096, 20, threads}, {10, 10}), OutOfMemory);
      CHECK(ledger.live.empty());
      CHECK(ledger.wrong == 0);
    }
  }
}

TEST_CASE("live blocks that take too long end the case") {
  Ledger ledger;
  CHECK_THROWS_AS(run_case(ledger, {Kind::pair, 4096, 5000, 1}, {0.01, 0}), TooSlow);
  CHECK(ledger.live.empty());
}
