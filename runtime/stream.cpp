#include "forebay/runtime/stream.hpp"

#include "forebay/pool/error.hpp"

namespace forebay {

void Stream::synchronize() const {
  if (state_ == nullptr) throw ClosedError("a stream without a device was waited for");
  state_->synchronize();
}

}  // namespace forebay
