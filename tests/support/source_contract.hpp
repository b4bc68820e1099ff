// What the pool relies on a memory source for; holds for every kind of memory.
#pragma once

#include "forebay/pool/memory_source.hpp"

namespace forebay::test {

/// Checks through Catch, in sections of its own, and leaves nothing behind. `bounded`: asking for
/// more than `traits().total` is harmless, and refused.
void keeps_source_contract(pool::MemorySource& source, bool bounded);

}  // namespace forebay::test
