#include "forebay/runtime/stream.hpp"

#include "forebay/pool/error.hpp"

namespace forebay {

pool::StreamId Stream::id() const noexcept { return state_ == nullptr ? 0 : state_->id; }

void* Stream::native() const noexcept { return state_ == nullptr ? nullptr : state_->native; }

void Stream::synchronize() const {
  if (state_ == nullptr) throw ClosedError("a stream without a device was waited for");
  state_->synchronize();
}

}  // namespace forebay
