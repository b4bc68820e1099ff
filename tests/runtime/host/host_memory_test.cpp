#include "runtime/host/host_memory.hpp"

#include <sched.h>

#include "tests/runtime/child.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;

TEST_CASE("The machine has memory, and what is available is part of it") {
  CHECK(host::total_memory() >= std::size_t{64} << 20);
  CHECK(host::available_memory() > 0);
  CHECK(host::available_memory() <= host::total_memory());
}

TEST_CASE("The processor has a name, an architecture and cores") {
  CHECK_FALSE(host::processor_name().empty());
  CHECK_FALSE(host::architecture().empty());
#ifdef __x86_64__
  CHECK(host::architecture() == "x86-64");
#endif
  CHECK(host::cores() >= 1);
}

TEST_CASE("Cores are those that the process may run on") {
  const auto ended = test::in_child([] {
    cpu_set_t all;
    if (sched_getaffinity(0, sizeof all, &all) != 0) return 1;
    int first = 0;
    while (!CPU_ISSET(first, &all)) ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) return 2;
    return host::cores() == 1 ? 0 : 3;
  });
  CHECK(ended.code == 0);
}
