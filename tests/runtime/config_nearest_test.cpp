#include <string>

#include "runtime/config_keys.hpp"
#include "tests/support/catch.hpp"

using forebay::config_keys::nearest;

TEST_CASE("a misspelt key is near the one that was meant, in its object or another") {
  CHECK(nearest("/fusion/teir") == "/fusion/tier");
  CHECK(nearest("/kernels/compile_thread") == "/kernels/compile_threads");
  CHECK(nearest("/fusion/compile_after") == "/kernels/compile_after");
  CHECK(nearest("/kernel") == "/kernels");
  CHECK(nearest("/kernels/cache/" + std::string(1000, 'x')).rfind("/kernels/", 0) == 0);
}
