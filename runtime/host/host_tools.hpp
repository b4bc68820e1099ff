// The content of the host's memory, for debug modes of its pool.
#pragma once

#include "forebay/pool/memory_tools.hpp"

namespace forebay::host {

/// Streams of the host run inline, so everything is done in their order anyway.
class HostTools final : public pool::MemoryTools {
 public:
  bool fill(pool::Address address, std::size_t bytes, std::uint8_t value,
            pool::StreamId stream) noexcept override;
  bool read(pool::Address address, std::size_t bytes, pool::StreamId stream,
            void* to) noexcept override;
};

}  // namespace forebay::host
