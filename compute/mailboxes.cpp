#include "compute/mailboxes.hpp"

#include <atomic>
#include <chrono>

namespace forebay::compute {
namespace {

// Longer than any launch of a small reduction takes; who waits longer than that waits for other
// work too, and the driver's wait also notices a kernel that failed.
constexpr std::chrono::microseconds kPatience{200};
constexpr int kLooksPerClock = 64;  // a clock read costs about as much as so many looks

}  // namespace

std::uint32_t Mailboxes::issue() noexcept {
  if (boxes_.empty()) return 0;
  if (++last_ == 0) ++last_;
  return last_;
}

std::uint64_t* Mailboxes::box(std::uint32_t ticket) const noexcept {
  return ticket == 0 ? nullptr : &boxes_[ticket % boxes_.size()];
}

std::optional<std::uint32_t> Mailboxes::collect(std::uint32_t ticket) const noexcept {
  if (ticket == 0 || last_ - ticket >= boxes_.size()) return std::nullopt;
  const std::atomic_ref<std::uint64_t> box(*this->box(ticket));
  using Clock = std::chrono::steady_clock;
  for (std::optional<Clock::time_point> deadline;;) {
    for (int look = 0; look < kLooksPerClock; ++look) {
      const std::uint64_t word = box.load(std::memory_order_acquire);
      if (word >> 32 == ticket) return static_cast<std::uint32_t>(word);
    }
    const Clock::time_point now = Clock::now();
    if (!deadline) deadline = now + kPatience;
    if (now >= *deadline) return std::nullopt;
  }
}

}  // namespace forebay::compute
