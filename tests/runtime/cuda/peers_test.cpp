#include "runtime/cuda/peers.hpp"

#include <string>

#include "forebay/pool/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_driver.hpp"

using namespace forebay;
using cuda::find_peers;
using pool::PoolPeers;

TEST_CASE("peers are the other devices, as the policy says") {
  test::FakeDriver::Options three;
  three.devices = 3;
  const test::FakeDriver driver(three);
  CHECK(find_peers(*driver.api(), 1, PoolPeers::none).empty());
  CHECK(find_peers(*driver.api(), 1, PoolPeers::all) == std::vector<CUdevice>{0, 2});
  CHECK(find_peers(*driver.api(), 0, PoolPeers::reachable) == std::vector<CUdevice>{1, 2});
}

TEST_CASE("a peer that cannot reach the memory is named or left out, as the policy says") {
  test::FakeDriver::Options three;
  three.devices = 3;
  three.isolated = 2;
  const test::FakeDriver driver(three);
  CHECK(find_peers(*driver.api(), 2, PoolPeers::reachable).empty());
  CHECK(find_peers(*driver.api(), 0, PoolPeers::all).size() == 2);  // it reaches out
  std::string line;
  try {
    (void)find_peers(*driver.api(), 2, PoolPeers::all);
  } catch (const DeviceError& error) {
    line = error.what();
  }
  CHECK(line ==
        "/pool/peers is \"all\", but cuda:0 cannot reach the memory of cuda:2; \"reachable\" "
        "leaves it out");
}

TEST_CASE("a device alone has no peers") {
  const test::FakeDriver driver;
  CHECK(find_peers(*driver.api(), 0, PoolPeers::all).empty());
}
