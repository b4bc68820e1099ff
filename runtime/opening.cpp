#include "runtime/opening.hpp"

#include <atomic>

namespace forebay {
namespace {

/// Never freed, and without a lock that a forked child could find locked.
struct Registration {
  void (*made)(Device&);
  const Registration* earlier;
};
constinit std::atomic<const Registration*> latest{nullptr};

}  // namespace

void when_opened(void (*made)(Device& device)) {
  auto* const registration = new Registration{made, latest.load()};
  while (!latest.compare_exchange_weak(registration->earlier, registration)) {
  }
}

void opening::tell(Device& device) {
  for (const Registration* at = latest.load(); at != nullptr; at = at->earlier) at->made(device);
}

}  // namespace forebay
