// Edges on a device, by each tier: special constants, nothing and one element, integers at their
// limit, inputs that are given away, expressions cut anywhere.
#include "tests/compute/constant_cases.hpp"
#include "tests/compute/cut_cases.hpp"
#include "tests/compute/empty_cases.hpp"
#include "tests/compute/in_place_cases.hpp"
#include "tests/compute/reuse_cases.hpp"
#include "tests/compute/strided_cases.hpp"
#include "tests/gpu/gpu_compute.hpp"

using namespace forebay;
using namespace forebay::testing;
using forebay::test::GpuCompute;

namespace {

Config config_for(FusionTier tier) {
  Config config = test::device_config();
  config.fusion.tier = tier;
  return config;
}

/// Both, one after the other: interpreted, and by kernels that somebody waits for.
template <typename Check>
void on_each_tier(const Check& check) {
  for (const FusionTier tier : {FusionTier::interpret, FusionTier::compile}) {
    GpuCompute gpu(config_for(tier));
    const bool interpreted = tier == FusionTier::interpret;
    if (interpreted && gpu.executor("cuda-interpreter") == nullptr) continue;
    INFO((interpreted ? "interpreted" : "compiled"));
    check(gpu, interpreted);
    CHECK((gpu.device.counters().kernels.interpreted_launches > 0) == interpreted);
  }
}

}  // namespace

TEST_CASE("on a GPU infinity, NaN and the least integers are the host's as constants") {
  FOREBAY_REQUIRE_DEVICE();
  on_each_tier([](GpuCompute& gpu, bool interpreted) {
    constexpr DType kSome[] = {DType::f32, DType::f16, DType::i32};
    Device& host = gpu.runtime.device("host");
    if (interpreted) {
      check_special_constants(gpu.device, host);
    } else {
      check_special_constants(gpu.device, host, kSome);  // kernels cost a compilation each
    }
  });
}

TEST_CASE("on a GPU nothing is computed of nothing, and reductions of it are identities") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu(config_for(FusionTier::automatic));
  check_empty_elementwise(gpu.device);
  check_empty_reductions(gpu.device);
  check_empty_shaping(gpu.device);
}

TEST_CASE("on a GPU one element is enough, whatever the rank") {
  FOREBAY_REQUIRE_DEVICE();
  on_each_tier([](GpuCompute& gpu, bool) { check_single_elements(gpu.device); });
}

TEST_CASE("on a GPU the least integer over minus one wraps") {
  FOREBAY_REQUIRE_DEVICE();
  on_each_tier([](GpuCompute& gpu, bool) { check_least_integers(gpu.device); });
}

TEST_CASE("on a GPU memory that a view of it still reads is not written over") {
  FOREBAY_REQUIRE_DEVICE();
  on_each_tier([](GpuCompute& gpu, bool) { check_views_of_given_inputs(gpu.device); });
}

TEST_CASE("on a GPU 10,000 turns of a loop over one tensor leave what four leave") {
  FOREBAY_REQUIRE_DEVICE();
  GpuCompute gpu(config_for(FusionTier::automatic));
  check_long_loop(gpu.device, 10'000);
}

TEST_CASE("on a GPU an expression has the same bits wherever it is cut") {
  FOREBAY_REQUIRE_DEVICE();
  on_each_tier(
      [](GpuCompute& gpu, bool interpreted) { check_cuts(gpu.device, 1, interpreted ? 15 : 1); });
}

TEST_CASE("on a GPU writes go through views with strides, in every type") {
  FOREBAY_REQUIRE_DEVICE();
  on_each_tier([](GpuCompute& gpu, bool) {
    check_strided_writes(gpu.device);
    check_overlapping_writes(gpu.device);
    check_refused_writes(gpu.device);
    check_constant_views(gpu.device);
  });
}

TEST_CASE("on a GPU graphs write through views with strides") {
  FOREBAY_REQUIRE_DEVICE();
  on_each_tier([](GpuCompute& gpu, bool) { check_strided_writes_replay(gpu.device); });
}

TEST_CASE("on a GPU what is pending sees the values from before a write in place") {
  FOREBAY_REQUIRE_DEVICE();
  on_each_tier([](GpuCompute& gpu, bool interpreted) {
    if (interpreted) check_pending_readers(gpu.device);
    check_held_values(gpu.device);
    check_pending_readers_of_graphs(gpu.device);
    check_in_place_games(gpu.device, 1, interpreted ? 50 : 3);
  });
}
