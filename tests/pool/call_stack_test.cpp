#include "pool/call_stack.hpp"

#include <cstdlib>
#include <string>

#include "tests/support/catch.hpp"

using namespace forebay::pool;

namespace {

// Not inlined and not the last call, so that it stands in the stack.
__attribute__((noinline)) CallStack from_here() {
  CallStack stack = CallStack::take();
  asm volatile("" : : "r"(&stack) : "memory");
  return stack;
}

}  // namespace

TEST_CASE("a call stack names the functions that were active") {
  const CallStack stack = from_here();
  REQUIRE(stack.count > 2);
  Symbols symbols;
  std::string all;
  for (int i = 0; i < stack.count; ++i) {
    const std::string& name = symbols.name(stack.frames[static_cast<std::size_t>(i)]);
    CHECK_FALSE(name.empty());
    CHECK(&name == &symbols.name(stack.frames[static_cast<std::size_t>(i)]));
    all += name + "\n";
  }
  INFO(all);
  if (std::string(symbols.source()) != "libdw") {
    WARN("SKIPPED: libdw is not here, so only exported functions have names");
    return;
  }
  CHECK(all.find("from_here()") != std::string::npos);
}

TEST_CASE("an address that is no code is named as the number that it is") {
  Symbols symbols;
  CHECK(symbols.name(reinterpret_cast<void*>(0x1001)) == "0x1000");
}

TEST_CASE("an exported function of a library is known in any case") {
  // strtod is exported by the C library; one byte into it lies its first call's return address.
  Symbols symbols;
  auto* inside = reinterpret_cast<char*>(&std::strtod) + 1;
  const std::string name = symbols.name(inside);
  CHECK(name.find("strtod") != std::string::npos);
}
