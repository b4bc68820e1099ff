// AllocationScope: the tag of what a thread allocates.
#include "forebay/pool/pool.hpp"

namespace forebay::pool {
namespace {

thread_local const char* current_tag = nullptr;

}  // namespace

AllocationScope::AllocationScope(const char* tag) noexcept : outer_(current_tag) {
  current_tag = tag;
}

AllocationScope::~AllocationScope() { current_tag = outer_; }

const char* AllocationScope::current() noexcept { return current_tag; }

}  // namespace forebay::pool
