// Making up for frees that found no host memory.
#include <new>
#include <optional>

#include "pool/pool_impl.hpp"

namespace forebay::pool {

// Nothing if the host had no memory for it. Whoever lacks memory below here has changed nothing
// yet, but for what a debug mode knew of the block: that is what every part of a free has to see
// to.
std::optional<Misuse> Pool::Impl::try_release(const PostponedFrees::Free& free) noexcept {
  try {
    return counted(recorder_ == nullptr ? release_block(free.pointer, free.stream, free.bytes)
                                        : release_recorded(free.pointer, free.stream, free.bytes));
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

Misuse Pool::Impl::release_or_postpone(const PostponedFrees::Free& free) noexcept {
  if (const std::optional<Misuse> misuse = try_release(free)) return *misuse;
  return postponed_.add(free) ? Misuse::none : counted(Misuse::no_host_memory);
}

// Each once more. Whether none of the stream `of` is left, or none at all.
bool Pool::Impl::make_up(const StreamId* of) noexcept {
  PostponedFrees::Free free;
  for (PostponedFrees::Place place = 0; postponed_.take(&place, &free); ++place) {
    if (closed()) {  // where everything is free
      postponed_.drop(place);
      continue;
    }
    const std::optional<Misuse> misuse = try_release(free);
    if (!misuse) {
      postponed_.put(place, free);
      continue;
    }
    postponed_.drop(place);
    if (*misuse != Misuse::none) report_misuse(*misuse, free.pointer, free.stream, free.bytes);
  }
  return of == nullptr ? postponed_.empty() : !postponed_.any_of(*of);
}

}  // namespace forebay::pool
