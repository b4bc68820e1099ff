// AllocationScope: the tag of what a thread allocates.
#include "pool/scope.hpp"

#include "forebay/pool/pool.hpp"

namespace forebay::pool {

AllocationScope::AllocationScope(const char* tag) noexcept : outer_(current_tag) {
  current_tag = tag;
}

AllocationScope::~AllocationScope() { current_tag = outer_; }

const char* AllocationScope::current() noexcept { return current_tag; }

}  // namespace forebay::pool
