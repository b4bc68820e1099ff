// Touching blocks of host memory.
#pragma once

#include "tools/forebay/touch.hpp"

namespace forebay::tools {

/// Streams of the host run inline, so stamping and checking happen in the call.
class HostTouch final : public Touch {
 public:
  void stamp(void* block, std::uint64_t bytes, std::uint32_t number, std::uint32_t stream) override;
  void check(void* block, std::uint64_t bytes, std::uint32_t number, std::uint32_t stream,
             std::uint32_t writer) override;
  [[nodiscard]] std::optional<std::uint32_t> finish() override { return lost_; }

 private:
  std::optional<std::uint32_t> lost_;
};

}  // namespace forebay::tools
