#include "compute/mailboxes.hpp"

#include <array>
#include <atomic>
#include <thread>

#include "tests/support/catch.hpp"

namespace forebay {
namespace {

using compute::Mailboxes;

std::uint64_t letter(std::uint32_t ticket, std::uint32_t bits) {
  return std::uint64_t{ticket} << 32 | bits;
}

TEST_CASE("a result is collected from its box, as often as asked") {
  std::array<std::uint64_t, 4> boxes{};
  Mailboxes mailboxes(boxes);
  const std::uint32_t first = mailboxes.issue();
  const std::uint32_t second = mailboxes.issue();
  REQUIRE(first != 0);
  REQUIRE(first != second);
  REQUIRE(mailboxes.box(first) != mailboxes.box(second));
  *mailboxes.box(second) = letter(second, 8);
  *mailboxes.box(first) = letter(first, 7);
  CHECK(mailboxes.collect(first) == 7U);
  CHECK(mailboxes.collect(second) == 8U);
  CHECK(mailboxes.collect(first) == 7U);
}

TEST_CASE("what did not come, or was written over, is not collected") {
  std::array<std::uint64_t, 4> boxes{};
  Mailboxes mailboxes(boxes);
  const std::uint32_t first = mailboxes.issue();
  CHECK_FALSE(mailboxes.collect(first).has_value());
  *mailboxes.box(first) = letter(first, 7);
  for (std::size_t i = 1; i < boxes.size(); ++i) {
    (void)mailboxes.issue();
    CHECK(mailboxes.collect(first) == 7U);
  }
  // The next ticket has the same box: the result may go at any moment.
  const std::uint32_t next = mailboxes.issue();
  CHECK(mailboxes.box(next) == mailboxes.box(first));
  CHECK_FALSE(mailboxes.collect(first).has_value());
  CHECK_FALSE(mailboxes.collect(next).has_value());
}

TEST_CASE("without boxes there are no tickets") {
  Mailboxes mailboxes({});
  CHECK(mailboxes.issue() == 0);
  CHECK(mailboxes.box(0) == nullptr);
  CHECK_FALSE(mailboxes.collect(0).has_value());
}

TEST_CASE("a result that comes while somebody looks is seen") {
  std::array<std::uint64_t, 2> boxes{};
  Mailboxes mailboxes(boxes);
  for (std::uint32_t i = 0; i < 100; ++i) {
    const std::uint32_t ticket = mailboxes.issue();
    std::thread kernel([&] {
      std::atomic_ref(*mailboxes.box(ticket)).store(letter(ticket, i), std::memory_order_release);
    });
    auto bits = mailboxes.collect(ticket);
    kernel.join();
    if (!bits) bits = mailboxes.collect(ticket);
    REQUIRE(bits == i);
  }
}

}  // namespace
}  // namespace forebay
