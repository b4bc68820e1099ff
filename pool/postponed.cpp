// Making up for frees that found no host memory.
#include <new>

#include "pool/pool_impl.hpp"

namespace forebay::pool {

// Whoever lacks memory below here has changed nothing yet: that is what every part of a free has to
// see to.
Misuse Pool::Impl::release_or_postpone(const PostponedFrees::Free& free) noexcept {
  try {
    return counted(recorder_ == nullptr ? release_block(free.pointer, free.stream, free.bytes)
                                        : release_recorded(free.pointer, free.stream, free.bytes));
  } catch (const std::bad_alloc&) {
    return postponed_.add(free) ? Misuse::none : counted(Misuse::no_host_memory);
  }
}

// Each once more. Whether none of the stream `of` is left, or none at all.
bool Pool::Impl::make_up(const StreamId* of) noexcept {
  PostponedFrees::Free free;
  for (std::size_t count = postponed_.size(); count > 0 && postponed_.take(&free); --count) {
    const Misuse misuse = release_or_postpone(free);
    if (misuse != Misuse::none) report_misuse(misuse, free.pointer, free.stream, free.bytes);
  }
  return of == nullptr ? postponed_.empty() : !postponed_.any_of(*of);
}

}  // namespace forebay::pool
