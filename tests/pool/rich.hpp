// Worlds of which only the pool lacks host memory: source, timeline and tools are others' matter,
// and theirs to see to.
#pragma once

#include <memory>
#include <utility>

#include "tests/pool/host_memory.hpp"
#include "tests/pool/world.hpp"

namespace forebay::pool::test {

class RichSource final : public MemorySource {
 public:
  explicit RichSource(std::shared_ptr<MemorySource> source) : source_(std::move(source)) {}
  [[nodiscard]] SourceTraits traits() const noexcept override { return source_->traits(); }
  [[nodiscard]] std::size_t free_bytes() const noexcept override { return source_->free_bytes(); }
  [[nodiscard]] double modelled_us() const noexcept override { return source_->modelled_us(); }
  SourceResult reserve(std::size_t bytes, Address* address) noexcept override {
    const ScarceMemory::Plenty plenty;
    return source_->reserve(bytes, address);
  }
  SourceResult unreserve(Address address, std::size_t bytes) noexcept override {
    const ScarceMemory::Plenty plenty;
    return source_->unreserve(address, bytes);
  }
  SourceResult create(std::size_t bytes, Handle* handle) noexcept override {
    const ScarceMemory::Plenty plenty;
    return source_->create(bytes, handle);
  }
  SourceResult map(Address address, std::size_t bytes, Handle handle) noexcept override {
    const ScarceMemory::Plenty plenty;
    return source_->map(address, bytes, handle);
  }
  SourceResult set_access(Address address, std::size_t bytes) noexcept override {
    const ScarceMemory::Plenty plenty;
    return source_->set_access(address, bytes);
  }
  SourceResult unmap(Address address, std::size_t bytes) noexcept override {
    const ScarceMemory::Plenty plenty;
    return source_->unmap(address, bytes);
  }
  SourceResult release(Handle handle, std::size_t bytes) noexcept override {
    const ScarceMemory::Plenty plenty;
    return source_->release(handle, bytes);
  }
  SourceResult allocate_region(std::size_t bytes, Address* address) noexcept override {
    const ScarceMemory::Plenty plenty;
    return source_->allocate_region(bytes, address);
  }
  SourceResult free_region(Address address, std::size_t bytes) noexcept override {
    const ScarceMemory::Plenty plenty;
    return source_->free_region(address, bytes);
  }

 private:
  const std::shared_ptr<MemorySource> source_;
};

class RichTimeline final : public Timeline {
 public:
  explicit RichTimeline(std::shared_ptr<Timeline> timeline) : timeline_(std::move(timeline)) {}
  [[nodiscard]] bool knows(StreamId stream) const noexcept override {
    const ScarceMemory::Plenty plenty;
    return timeline_->knows(stream);
  }
  [[nodiscard]] bool capturing(StreamId stream) const noexcept override {
    const ScarceMemory::Plenty plenty;
    return timeline_->capturing(stream);
  }
  bool record(StreamId stream, Point point) noexcept override {
    const ScarceMemory::Plenty plenty;
    return timeline_->record(stream, point);
  }
  [[nodiscard]] bool passed(StreamId stream, Point point) noexcept override {
    const ScarceMemory::Plenty plenty;
    return timeline_->passed(stream, point);
  }
  bool wait(StreamId waiter, StreamId stream, Point point) noexcept override {
    const ScarceMemory::Plenty plenty;
    return timeline_->wait(waiter, stream, point);
  }
  bool synchronize(StreamId stream, Point point) noexcept override {
    const ScarceMemory::Plenty plenty;
    return timeline_->synchronize(stream, point);
  }
  void forget(StreamId stream, Point point) noexcept override {
    const ScarceMemory::Plenty plenty;
    timeline_->forget(stream, point);
  }

 private:
  const std::shared_ptr<Timeline> timeline_;
};

class RichTools final : public MemoryTools {
 public:
  explicit RichTools(std::shared_ptr<MemoryTools> tools) : tools_(std::move(tools)) {}
  bool fill(Address address, std::size_t bytes, std::uint8_t value,
            StreamId stream) noexcept override {
    const ScarceMemory::Plenty plenty;
    return tools_->fill(address, bytes, value, stream);
  }
  bool read(Address address, std::size_t bytes, StreamId stream, void* to) noexcept override {
    const ScarceMemory::Plenty plenty;
    return tools_->read(address, bytes, stream, to);
  }

 private:
  const std::shared_ptr<MemoryTools> tools_;
};

/// The pool of a world anew, with parts that always have memory.
inline void enrich(World& world) {
  const PoolConfig same = world.pool.config();
  world.pool.close();
  world.pool = Pool(
      std::make_shared<RichSource>(world.source), std::make_shared<RichTimeline>(world.hooks), same,
      [lines = world.log](std::string_view line) {
        const ScarceMemory::Plenty plenty;
        lines->emplace_back(line);
      },
      world.tools == nullptr ? nullptr : std::make_shared<RichTools>(world.tools));
}

}  // namespace forebay::pool::test
