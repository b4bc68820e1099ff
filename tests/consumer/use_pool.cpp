// The pool alone, on memory that this program provides.
#include <cstdio>
#include <cstdlib>
#include <forebay/pool/pool.hpp>

namespace pool = forebay::pool;

// Whole regions from the C library, for a pool in passthrough mode.
class Regions : public pool::MemorySource {
 public:
  pool::SourceTraits traits() const noexcept override {
    return {"regions", false, std::size_t{2} << 20, std::size_t{1} << 30};
  }
  std::size_t free_bytes() const noexcept override { return traits().total; }
  pool::SourceResult reserve(std::size_t, pool::Address*) noexcept override { return kNo; }
  pool::SourceResult unreserve(pool::Address, std::size_t) noexcept override { return kNo; }
  pool::SourceResult create(std::size_t, pool::Handle*) noexcept override { return kNo; }
  pool::SourceResult map(pool::Address, std::size_t, pool::Handle) noexcept override { return kNo; }
  pool::SourceResult set_access(pool::Address, std::size_t) noexcept override { return kNo; }
  pool::SourceResult unmap(pool::Address, std::size_t) noexcept override { return kNo; }
  pool::SourceResult release(pool::Handle, std::size_t) noexcept override { return kNo; }
  pool::SourceResult allocate_region(std::size_t bytes, pool::Address* address) noexcept override {
    constexpr std::size_t kAlignment = std::size_t{2} << 20;
    const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    *address = reinterpret_cast<pool::Address>(std::aligned_alloc(kAlignment, rounded));
    return {*address == 0 ? pool::Outcome::out_of_memory : pool::Outcome::ok};
  }
  pool::SourceResult free_region(pool::Address address, std::size_t) noexcept override {
    std::free(reinterpret_cast<void*>(address));
    return {};
  }

 private:
  static constexpr pool::SourceResult kNo{pool::Outcome::failed, 0};
};

// One stream whose work runs inline: every point has passed.
class Inline : public pool::Timeline {
 public:
  bool knows(pool::StreamId stream) const noexcept override { return stream == 1; }
  bool capturing(pool::StreamId) const noexcept override { return false; }
  bool record(pool::StreamId, pool::Point) noexcept override { return true; }
  bool passed(pool::StreamId, pool::Point) noexcept override { return true; }
  bool wait(pool::StreamId, pool::StreamId, pool::Point) noexcept override { return true; }
  bool synchronize(pool::StreamId, pool::Point) noexcept override { return true; }
  void forget(pool::StreamId, pool::Point) noexcept override {}
};

int main() {
  pool::PoolConfig config;
  config.mode = pool::PoolMode::passthrough;
  pool::Pool memory(std::make_shared<Regions>(), std::make_shared<Inline>(), config);
  void* block = memory.allocate(1000, 1);
  if (block == nullptr || memory.try_deallocate(block, 1) != pool::Misuse::none) return 1;
  memory.close();
  return std::puts("pool: allocated and freed") < 0;
}
