#include "compute/replay_list.hpp"

#include <array>
#include <cstring>

#include "forebay/pool/error.hpp"
#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::testing;
using compute::CustomKernel;
using compute::RecordingBackend;
using compute::ReplayList;

namespace {

constexpr std::array<std::size_t, 3> kSizes{sizeof(float*), 1, sizeof(double)};

void add_on_host(std::span<void* const> arguments, unsigned blocks) {
  float* const target = *static_cast<float**>(arguments[0]);
  const auto count = *static_cast<const std::uint8_t*>(arguments[1]);
  const double value = *static_cast<const double*>(arguments[2]);
  for (unsigned i = 0; i < count; ++i) target[i] += static_cast<float>(value * blocks);
}

constexpr CustomKernel kAdd{
    .name = "add", .cuda_source = "", .block = 1, .host = add_on_host, .parameter_bytes = kSizes};

}  // namespace

TEST_CASE("a custom kernel replays with the values that its parameters had") {
  const Host host;
  compute::Backend& inner = compute::backend_of(host.device);
  const Stream& stream = host.device.default_stream();
  RecordingBackend recorder(inner);
  std::array<float, 4> data{};
  {
    float* target = data.data();
    std::uint8_t count = 3;
    double value = 2;
    const std::array<void*, 3> arguments{&target, &count, &value};
    recorder.run(kAdd, arguments, 5, stream);
    recorder.run(kAdd, arguments, 0, stream);
    target = nullptr;
    value = 100;
  }
  CHECK(data == std::array<float, 4>{});
  const auto list = recorder.end_capture(stream, nullptr);
  REQUIRE(list != nullptr);
  CHECK(list->size() == 1);
  list->replay(stream);
  list->replay(stream);
  CHECK(data == std::array<float, 4>{20, 20, 20, 0});
}

TEST_CASE("a kernel without the sizes of its parameters cannot be kept") {
  const Host host;
  RecordingBackend recorder(compute::backend_of(host.device));
  CustomKernel unknown = kAdd;
  unknown.parameter_bytes = {};
  const std::array<void*, 3> arguments{};
  CHECK(contains(message_of<CaptureError>(
                     [&] { recorder.run(unknown, arguments, 1, host.device.default_stream()); }),
                 "the kernel add does not say"));
}

TEST_CASE("an earlier list takes the calls over, and a failed replay says what failed") {
  const Host host;
  compute::Backend& inner = compute::backend_of(host.device);
  const Stream& stream = host.device.default_stream();
  int first = 0;
  ReplayList earlier;
  earlier.add([&](const Stream&) { ++first; });
  RecordingBackend recorder(inner);
  std::array<float, 2> source{1, 2};
  std::array<float, 2> target{};
  recorder.copy(source.data(), target.data(), sizeof source, stream);
  recorder.copy(source.data(), target.data(), 0, stream);
  CHECK(recorder.end_capture(stream, &earlier) == nullptr);
  CHECK(earlier.size() == 1);
  earlier.replay(stream);
  CHECK(first == 0);
  CHECK(target == source);
  int after = 0;
  earlier.add([](const Stream&) { throw OutOfMemory("none left", "report"); });
  earlier.add([&](const Stream&) { ++after; });
  CHECK_THROWS_AS(earlier.replay(stream), OutOfMemory);
  CHECK(after == 0);
}

TEST_CASE("a recording backend says what the device's own can hold, and moves no data") {
  const Host host;
  compute::Backend& inner = compute::backend_of(host.device);
  const Stream& stream = host.device.default_stream();
  RecordingBackend recorder(inner);
  CHECK(recorder.limits().max_ops == inner.limits().max_ops);
  REQUIRE(recorder.executors().size() == 1);
  CHECK(recorder.executors()[0]->name() == "recording");
  float word = 0;
  CHECK_THROWS_AS(recorder.upload(&word, DType::f32, &word, DType::f32, 1, stream), CaptureError);
  CHECK_THROWS_AS(recorder.upload_many({}, stream), CaptureError);
  CHECK_THROWS_AS(recorder.download(&word, &word, 4, stream), CaptureError);
}

TEST_CASE("backends have no graphs of their own unless they say so") {
  const Host host;
  compute::Backend& inner = compute::backend_of(host.device);
  const Stream& stream = host.device.default_stream();
  CHECK_FALSE(inner.prepare_capture(stream));
  CHECK_THROWS_AS(inner.begin_capture(stream), CaptureError);
  CHECK_THROWS_AS(inner.end_capture(stream, nullptr), CaptureError);
}
