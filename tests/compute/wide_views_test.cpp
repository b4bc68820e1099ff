// Views whose elements lie more than 2^31 apart, on the host and interpreted: on addresses of which
// only the pages are memory that hold an element.
#include <array>

#include "compute/dlpack_abi.hpp"
#include "forebay/compute/dlpack.hpp"
#include "forebay/compute/shaping.hpp"
#include "tests/compute/support.hpp"
#include "tests/support/sparse_memory.hpp"

using namespace forebay;
using namespace forebay::testing;

namespace {

using Four = std::array<std::int64_t, 4>;

/// An array of bytes that goes with the last tensor on it; the bytes stay.
struct ForeignBytes {
  DLManagedTensor managed{};
  Four shape, strides;
};

Tensor bytes_at(void* data, const Four& shape, const Four& strides, Device& device) {
  auto array = std::make_unique<ForeignBytes>();
  array->shape = shape;
  array->strides = strides;
  array->managed.dl_tensor = {
      data, {kDlCpu, 0}, 4, {kDlUInt, 8, 1}, array->shape.data(), array->strides.data(), 0};
  array->managed.manager_ctx = array.get();
  array->managed.deleter = [](DLManagedTensor* self) {
    delete static_cast<ForeignBytes*>(self->manager_ctx);
  };
  return from_dlpack(&array.release()->managed, device);
}

std::uint8_t pattern_at(std::int64_t offset) {
  return static_cast<std::uint8_t>(offset * 5 + offset / 777 + 1);
}

}  // namespace

TEST_CASE("views of four dimensions reach elements beyond 2^31, forward, backward and turned") {
  constexpr std::int64_t kFar = (std::int64_t{1} << 31) + 5;
  constexpr Four kShape{2, 3, 2, 4};
  constexpr Four kStrides{kFar, 700'001, 30'011, 1001};
  const test::SparseMemory memory(static_cast<std::size_t>(kFar) + 8'000'000);
  if (!memory) return;
  const auto offset = [&](std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
    return a * kStrides[0] + b * kStrides[1] + c * kStrides[2] + d * kStrides[3];
  };
  for (std::int64_t a = 0; a < 2; ++a) {
    for (std::int64_t b = 0; b < 3; ++b) {
      for (std::int64_t c = 0; c < 2; ++c) {
        for (std::int64_t d = 0; d < 4; ++d) {
          const std::int64_t at = offset(a, b, c, d);
          *memory.at<std::uint8_t>(static_cast<std::size_t>(at)) = pattern_at(at);
        }
      }
    }
  }
  const Host host;
  {
    const Tensor x = bytes_at(memory.at(), kShape, kStrides, host.device);
    // Element by element of a view that is computed with, and the sum of all.
    const auto check = [&](const char* name, const Tensor& view, const auto& where) {
      INFO(name);
      const std::vector<std::uint8_t> got = (view + 1).to_host<std::uint8_t>();
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < got.size(); ++i) {
        const std::uint8_t want = pattern_at(where(static_cast<std::int64_t>(i)));
        sum += want;
        REQUIRE(got[i] == static_cast<std::uint8_t>(want + 1));
      }
      CHECK(view.sum().item<std::int64_t>() == sum);
      CHECK(view.reshape({view.numel()}).to_host<std::uint8_t>()[got.size() - 1] ==
            static_cast<std::uint8_t>(got.back() - 1));
    };
    check("as it is", x,
          [&](std::int64_t i) { return offset(i / 24, i / 8 % 3, i / 4 % 2, i % 4); });
    check("backward", flip(flip(x, 0), 3),
          [&](std::int64_t i) { return offset(1 - i / 24, i / 8 % 3, i / 4 % 2, 3 - i % 4); });
    check("turned", x.transpose(0, 3),
          [&](std::int64_t i) { return offset(i % 2, i / 4 % 3, i / 2 % 2, i / 12); });
    check("its far half", narrow(x, 0, 1, 1),
          [&](std::int64_t i) { return offset(1, i / 8, i / 4 % 2, i % 4); });
    const std::vector<int> first{0};
    std::vector<std::int64_t> pairs;
    for (std::int64_t i = 0; i < 24; ++i) {
      const std::int64_t near = offset(0, i / 8, i / 4 % 2, i % 4);
      pairs.push_back(pattern_at(near) + pattern_at(near + kFar));
    }
    CHECK(x.sum(first).to_host<std::int64_t>() == pairs);
  }
  // From the end of the memory backward.
  const Tensor back =
      bytes_at(memory.at(static_cast<std::size_t>(offset(1, 2, 1, 3))), kShape,
               {-kStrides[0], -kStrides[1], -kStrides[2], -kStrides[3]}, host.device);
  CHECK(back.to_host<std::uint8_t>().back() == pattern_at(0));
  CHECK(back.to_host<std::uint8_t>().front() == pattern_at(offset(1, 2, 1, 3)));
}
