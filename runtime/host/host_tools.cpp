#include "runtime/host/host_tools.hpp"

#include <cstring>

namespace forebay::host {

bool HostTools::fill(pool::Address address, std::size_t bytes, std::uint8_t value,
                     pool::StreamId /*stream*/) noexcept {
  std::memset(reinterpret_cast<void*>(address), value, bytes);  // NOLINT(performance-no-int-to-ptr)
  return true;
}

bool HostTools::read(pool::Address address, std::size_t bytes, pool::StreamId /*stream*/,
                     void* to) noexcept {
  std::memcpy(to, reinterpret_cast<const void*>(address),  // NOLINT(performance-no-int-to-ptr)
              bytes);
  return true;
}

}  // namespace forebay::host
