// Single results that kernels leave in host memory, so that the host reads them without the driver.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace forebay::compute {

/// Hands out a backend's mailboxes in turn, and collects what kernels left there. The box of a
/// result is used again after as many further results as there are boxes; what is not in a box any
/// more has to be read from the device.
///
/// Thread safety: none; guarded by the engine's mutex. Kernels write the boxes at any time.
class Mailboxes {
 public:
  /// No boxes are fine: then there are no tickets. REQUIRES: `boxes` are zero.
  explicit Mailboxes(std::span<std::uint64_t> boxes) noexcept : boxes_(boxes) {}

  /// A ticket for the next result, 0 without boxes.
  [[nodiscard]] std::uint32_t issue() noexcept;
  /// Where the result of a ticket goes; null for ticket 0.
  [[nodiscard]] std::uint64_t* box(std::uint32_t ticket) const noexcept;
  /// The bits that came under `ticket`. Spins for them, a fraction of a millisecond at most; none
  /// if they did not come by then, the box was used again, or the ticket is 0.
  [[nodiscard]] std::optional<std::uint32_t> collect(std::uint32_t ticket) const noexcept;

 private:
  std::span<std::uint64_t> boxes_;
  std::uint32_t last_ = 0;  // the newest ticket
};

}  // namespace forebay::compute
