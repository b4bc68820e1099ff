#include "tools/forebay/allocator.hpp"

#include <utility>

namespace forebay::tools {

PoolAllocator::PoolAllocator(const char* name, std::shared_ptr<Device> device, unsigned streams)
    : name_(name), device_(std::move(device)), pool_(device_->pool()) {
  for (unsigned i = 0; i < streams; ++i) {
    streams_.push_back(device_->create_stream());
    ids_.push_back(streams_.back().id());
  }
}

}  // namespace forebay::tools
