#include "compute/capture_log.hpp"

#include <array>

#include "forebay/compute/shaping.hpp"
#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::testing;
using compute::CaptureLog;
using compute::Node;
using compute::NodeKind;
using compute::NodeRef;
using compute::Storage;

namespace {

std::shared_ptr<Storage> storage(const Host& host, std::size_t bytes = 16) {
  return std::make_shared<Storage>(host.device.shared_from_this(), bytes);
}

}  // namespace

TEST_CASE("nodes from before a capture are what they were when its log is gone") {
  const Host host;
  const Tensor x = host.f32({1, 2, 3, 4});
  const Tensor lazy = x + 1.0F;
  const Tensor five = full({4}, 5.0F, host.device);
  Node& node = *lazy.node();
  const std::uint32_t owners = x.node()->owners();
  {
    CaptureLog log(7);
    log.note(node);
    node.become_storage(storage(host));
    log.note(*five.node());
    five.node()->become_storage(storage(host));
    CHECK(node.is(NodeKind::storage));
    CHECK(x.node()->owners() == owners);  // it will be needed again
  }
  CHECK(node.is(NodeKind::operation));
  CHECK(node.storage == nullptr);
  CHECK(five.node()->is(NodeKind::constant));
  CHECK(lazy.to_host<float>() == std::vector<float>{2, 3, 4, 5});
  CHECK(five.to_host<float>() == std::vector<float>{5, 5, 5, 5});
}

TEST_CASE("a node that changed twice goes back to the first") {
  const Host host;
  const Tensor x = host.f32({1, 2, 3, 4}, {2, 2});
  const Tensor turned = x.transpose();
  const std::shared_ptr<Storage> own = turned.node()->storage;
  {
    CaptureLog log(7);
    for (int i = 0; i < 2; ++i) {
      log.note(*turned.node());
      turned.node()->become_storage(storage(host));
    }
  }
  CHECK(turned.node()->storage == own);
  CHECK_FALSE(turned.node()->contiguous);
  CHECK(turned.to_host<float>() == std::vector<float>{1, 3, 2, 4});
}

TEST_CASE("a part of a storage is that part again") {
  const Host host;
  const Tensor column = narrow(host.f32({1, 2, 3, 4}, {2, 2}), 1, 1, 1);
  {
    CaptureLog log(7);
    log.note(*column.node());
    column.node()->become_storage(storage(host, 8));
  }
  CHECK(column.node()->offset == 1);
  CHECK(column.to_host<float>() == std::vector<float>{2, 4});
}

TEST_CASE("nodes and storage of the capture itself are not noted or kept") {
  const Host host;
  const Tensor lazy = host.f32({1, 2, 3, 4}) + 1.0F;
  lazy.node()->capture = 7;
  const auto inside = storage(host);
  const auto outside = storage(host);
  inside->capture = 7;
  outside->capture = 6;  // another graph's
  {
    CaptureLog log(7);
    CHECK(log.number() == 7);
    log.note(*lazy.node());
    lazy.node()->become_storage(inside);
    for (int i = 0; i < 3; ++i) {
      log.keep(inside);
      log.keep(outside);
    }
    CHECK(log.take_kept() == std::vector{outside});
    CHECK(log.take_kept().empty());
  }
  CHECK(lazy.node()->is(NodeKind::storage));
}

TEST_CASE("a node that nobody else holds any more lives until the log is gone") {
  const Host host;
  const std::uint64_t live = host.device.pool().stats().allocations.live;
  {
    CaptureLog log(7);
    {
      const Tensor lazy = host.f32({1, 2, 3, 4}) + 1.0F;
      log.note(*lazy.node());
      lazy.node()->become_storage(storage(host));
    }
  }
  CHECK(host.device.pool().stats().allocations.live == live);
}
