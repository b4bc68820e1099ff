// The recorder's place in the pool.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "forebay/pool/error.hpp"
#include "forebay/pool/pool.hpp"
#include "pool/pool_impl.hpp"

namespace forebay::pool {

Misuse Pool::Impl::release_recorded(void* pointer, StreamId stream, std::size_t bytes) {
  const std::uint64_t event = recorder_->freeing(reinterpret_cast<Address>(pointer), stream);
  const Misuse misuse = release_block(pointer, stream, bytes);
  const bool freed = misuse == Misuse::none || misuse == Misuse::buffer_overrun;
  if (!freed) recorder_->take_back(event);
  return misuse;
}

Trace Pool::Impl::trace() const {
  if (recorder_ == nullptr) {
    throw Error("pool: nothing was recorded; set pool.trace.ring_bytes to more than 0 first");
  }
  return recorder_->trace();
}

void Pool::write_trace(const std::string& file) const {
  const std::string content = encode_trace(trace());
  // Under another name first, so that nobody ever reads a half of it.
  const std::string unfinished = file + "." + std::to_string(::getpid()) + ".unfinished";
  std::ofstream out(unfinished, std::ios::binary);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  const bool written = !out.fail() && std::rename(unfinished.c_str(), file.c_str()) == 0;
  if (written) return;
  const std::string reason = std::strerror(errno);
  std::remove(unfinished.c_str());
  throw Error("pool: the trace cannot be written to '" + file + "': " + reason +
              "; name a file in a folder that you may write to");
}

}  // namespace forebay::pool
