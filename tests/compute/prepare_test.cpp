#include "forebay/compute/prepare.hpp"

#include "forebay/compute/graph.hpp"
#include "forebay/pool/error.hpp"
#include "forebay/runtime/runtime.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;

TEST_CASE("on the host nothing is made in the background") {
  Runtime runtime = Runtime::create();
  CHECK(prepare(runtime.device("host"), std::chrono::milliseconds(0)));
}

TEST_CASE("inside of a capture nothing is prepared, since a graph would hold it") {
  Runtime runtime = Runtime::create();
  Device& device = runtime.device("host");
  CHECK_THROWS_AS(capture(device, [&] { (void)prepare(device); }), CaptureError);
  CHECK(prepare(device));
}

TEST_CASE("a closed device has nothing to prepare") {
  Runtime runtime = Runtime::create();
  Device& device = runtime.device("host");
  const auto keep = device.shared_from_this();
  runtime.close();
  CHECK_THROWS_AS(prepare(device), ClosedError);
}
