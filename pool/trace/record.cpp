// The recorder's place in the pool.
#include <cstring>
#include <string>

#include "forebay/pool/error.hpp"
#include "forebay/pool/pool.hpp"
#include "pool/pool_impl.hpp"
#include "pool/trace/target_file.hpp"

namespace forebay::pool {

Misuse Pool::Impl::release_recorded(void* pointer, StreamId stream, std::size_t bytes) {
  const std::uint64_t event = recorder_->freeing(reinterpret_cast<Address>(pointer), stream);
  try {
    const Misuse misuse = release_block(pointer, stream, bytes);
    const bool freed = misuse == Misuse::none || misuse == Misuse::buffer_overrun;
    if (!freed) recorder_->take_back(event);
    return misuse;
  } catch (...) {  // no host memory
    recorder_->take_back(event);
    throw;
  }
}

Trace Pool::Impl::trace() const {
  if (recorder_ == nullptr) {
    throw Error("pool: nothing was recorded; set pool.trace.ring_bytes to more than 0 first");
  }
  return recorder_->trace();
}

void Pool::write_trace(const std::string& file) const {
  const std::string content = encode_trace(trace());
  TargetFile target;
  int error = target.open(file);
  if (error == 0) error = target.write(content);
  if (error == 0) return;
  throw Error("pool: the trace cannot be written to '" + file + "': " + std::strerror(error) +
              "; name a file in a folder that you may write to");
}

}  // namespace forebay::pool
