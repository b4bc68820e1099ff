#include "compute/cuda/tile_plan.hpp"

#include <utility>

#include "tests/compute/cuda/sample_programs.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using compute::Access;
using compute::Binding;
using compute::Program;
using cuda::kPatch;
using cuda::TilePlan;

namespace {

Program copy_of(std::vector<Access> leaves, unsigned rank) {
  Program program;
  for (const Access access : leaves) program.leaves.push_back({DType::f32, access});
  program.outputs = {{0}};
  program.rank = static_cast<std::uint8_t>(rank);
  return program;
}

TilePlan plan(const Program& program, const Dims& extents, std::vector<Dims> strides) {
  Binding binding;
  binding.extents = extents;
  binding.strides = std::move(strides);
  const cuda::LyingAcross across = cuda::lying_across(program, binding);
  const cuda::TileShape tile =
      cuda::patch_tiles(extents[extents.size() - 1], extents[across.dimension], kPatch, 2, 256);
  return cuda::plan_tiles(binding, across, tile, kPatch);
}

TilePlan transposed(const Dims& extents, const Dims& strides) {
  return plan(copy_of({Access::strided}, static_cast<unsigned>(extents.size())), extents,
              {strides});
}

}  // namespace

TEST_CASE("a leaf whose neighbours lie across the rows is read by tiles, others are not") {
  CHECK(transposed({64, 64}, {1, 64}).blocks > 0);
  CHECK(transposed({64, 64}, {-1, 64}).blocks > 0);
  CHECK(transposed({64, 64}, {1, -100}).blocks > 0);
  CHECK(transposed({3, 64, 5, 64}, {20480, 1, 4096, 64}).across == 1);
  for (const Dims& strides : {Dims{64, 1}, Dims{64, -1}, Dims{1, 0}, Dims{1, 1}, Dims{2, 128}}) {
    INFO(to_string(strides));
    CHECK(transposed({64, 64}, strides).blocks == 0);
  }
  INFO("too short for a warp's tile");
  CHECK(transposed({32, 64}, {1, 32}).blocks > 0);
  CHECK(transposed({32, 63}, {1, 32}).blocks == 0);
  CHECK(transposed({31, 1000}, {1, 31}).blocks == 0);
  CHECK(transposed({128, 16}, {1, 128}).blocks > 0);
  CHECK(transposed({1000, 15}, {1, 1000}).blocks == 0);
}

TEST_CASE("the first leaf that lies across decides, and those like it are staged with it") {
  const Program program = copy_of(
      {Access::linear, Access::strided, Access::strided, Access::strided, Access::strided}, 3);
  const TilePlan tiles = plan(program, {40, 50, 60},
                              {{}, {3000, 60, 1}, {50, 1, 2000}, {1, 2400, 40}, {3000, -1, 50}});
  CHECK(tiles.across == 1);
  CHECK(tiles.blocks > 0);
  CHECK(tiles.leaves == 0b10100);
}

TEST_CASE("as many leaves are staged as shared memory holds, in fewer passes if there are more") {
  Program program = copy_of(std::vector<Access>(4, Access::strided), 2);
  CHECK(cuda::staged(program, 0) == 0);
  CHECK(cuda::staged(program, 0b1111) == 0b0111);
  CHECK(cuda::staged(program, 0b1110) == 0b1110);
  CHECK(cuda::passes_of(program, 0b0001) == 2);
  CHECK(cuda::passes_of(program, 0b0011) == 1);
  CHECK(cuda::passes_of(program, 0b0111) == 1);
  program.leaves[0].type = DType::f64;
  CHECK(cuda::staged(program, 0b1111) == 0b0011);
  CHECK(cuda::passes_of(program, 0b0001) == 1);
  program.leaves[0].type = DType::u8;
  CHECK(cuda::staged(program, 0b1111) == 0b0111);
  CHECK(cuda::passes_of(program, 0b0001) == 8);
  CHECK(cuda::passes_of(program, 0b0011) == 2);
  program.leaves[1].type = DType::f16;
  CHECK(cuda::passes_of(program, 0b0010) == 4);
  CHECK(cuda::passes_of(program, 0b0011) == 4);
}

TEST_CASE("what is staged is copied by as many bytes as all of it allows") {
  const auto bytes_of = [](const Program& program, const Dims& extents, std::vector<Dims> strides,
                           std::uintptr_t address) {
    Binding binding;
    binding.extents = extents;
    binding.strides = std::move(strides);
    binding.leaves.assign(program.leaves.size(), reinterpret_cast<const void*>(address));
    return 1U << cuda::copy_log2(program, binding, plan(program, extents, binding.strides));
  };
  const Program one = copy_of({Access::strided}, 3);
  const auto bytes = [&](const Dims& strides, std::uintptr_t address = 256) {
    return bytes_of(one, {8, 64, 64}, {strides}, address);
  };
  CHECK(bytes({4096, 1, 64}) == 16);
  CHECK(bytes({4096, 1, 66}) == 8);
  CHECK(bytes({4098, 1, 64}) == 8);
  CHECK(bytes({4096, 1, 64}, 264) == 8);
  CHECK(bytes({4096, 1, 65}) == 4);
  CHECK(bytes({4096, -1, 64}) == 4);
  Program mixed = copy_of({Access::strided, Access::strided, Access::linear}, 2);
  mixed.leaves[1].type = DType::u8;
  const auto both = [&](const Dims& wide, const Dims& narrow) {
    return bytes_of(mixed, {64, 64}, {wide, narrow, {}}, 256);
  };
  CHECK(both({1, 64}, {1, 64}) == 16);
  CHECK(both({1, 64}, {1, 68}) == 4);
  CHECK(both({1, 64}, {1, 67}) == 1);
  CHECK(both({1, 65}, {1, 64}) == 4);
}

TEST_CASE("a patch's part of a row has sixteen bytes at most") {
  Program program = copy_of({Access::strided, Access::linear}, 2);
  CHECK(cuda::patch_of(program) == 4);
  program.leaves[0].type = DType::u8;
  CHECK(cuda::patch_of(program) == 4);
  program.leaves[1].type = DType::f64;
  CHECK(cuda::patch_of(program) == 4);  // is read through the first cache
  program.outputs.push_back({1});
  CHECK(cuda::patch_of(program) == 2);
  const cuda::TileShape tile = cuda::patch_tiles(1000, 1000, 2, 1, 256);
  CHECK(tile.inner == 64);
  CHECK(tile.across == 64);
  INFO("patches of one element have tiles of the same form");
  for (const unsigned passes : {1U, 2U, 8U}) {
    const cuda::TileShape odd = cuda::patch_tiles(1001, 1001, 1, passes, 256);
    const cuda::TileShape even = cuda::patch_tiles(1001, 1001, kPatch, passes, 256);
    CHECK(odd.inner == even.inner);
    CHECK(odd.across == even.across);
  }
}

TEST_CASE("reductions, linear maps and long programs have no tiles") {
  CHECK(cuda::may_tile(copy_of({Access::strided}, 2)));
  CHECK_FALSE(cuda::may_tile(copy_of({Access::linear}, 1)));
  CHECK_FALSE(cuda::may_tile(test::sum_program({DType::f32, Access::strided}, 2, 0b10)));
  Program program = copy_of({Access::strided}, 2);
  for (int k = 0; k < 65; ++k) {
    CHECK(cuda::may_tile(program));
    program.code.push_back({compute::Op::neg, DType::f32, static_cast<compute::Value>(k), 0, 0});
  }
  CHECK_FALSE(cuda::may_tile(program));
}

TEST_CASE("tiles cover the space, patches side by side as far as a row reaches") {
  for (const std::int64_t inner : {16, 17, 32, 33, 64, 65, 1000}) {
    for (const std::int64_t across : {128, 129, 255, 256, 257, 1000}) {
      const TilePlan tiles = transposed({3, across, inner}, {across * inner, 1, across});
      INFO(inner << " by " << across);
      CHECK(std::int64_t{tiles.inner_tiles} * tiles.tile.inner >= inner);
      CHECK((std::int64_t{tiles.inner_tiles} - 1) * tiles.tile.inner < inner);
      CHECK(std::int64_t{tiles.across_tiles} * tiles.tile.across >= across);
      CHECK((std::int64_t{tiles.across_tiles} - 1) * tiles.tile.across < across);
      CHECK(tiles.blocks == 3 * std::int64_t{tiles.inner_tiles} * tiles.across_tiles);
    }
  }
  const auto shape = [](std::int64_t inner, std::int64_t across, std::size_t bytes,
                        unsigned threads) {
    const cuda::TileShape tile =
        cuda::patch_tiles(inner, across, kPatch, cuda::passes_of(bytes), threads);
    return std::pair(tile.inner, tile.across);
  };
  CHECK(shape(16, 1000, 4, 256) == std::pair(16U, 512U));
  CHECK(shape(40, 1000, 4, 256) == std::pair(64U, 128U));
  CHECK(shape(1000, 1000, 8, 256) == std::pair(128U, 32U));
  CHECK(shape(1000, 1000, 4, 256) == std::pair(128U, 64U));
  CHECK(shape(1000, 1000, 4, 128) == std::pair(128U, 32U));
  // Rows of narrow elements take more passes.
  CHECK(shape(1000, 1000, 2, 256) == std::pair(128U, 128U));
  CHECK(shape(1000, 1000, 1, 256) == std::pair(128U, 256U));
  CHECK(shape(1000, 40, 1, 256) == std::pair(128U, 64U));
  CHECK(shape(1000, 32, 1, 256) == std::pair(128U, 32U));
}

TEST_CASE("where a grid has too few blocks for tiles, and for nothing, there are none") {
  constexpr std::int64_t kMany = std::int64_t{1} << 31;
  CHECK(transposed({kMany, 128, 16}, {2048, 1, 128}).blocks == 0);
  CHECK(transposed({kMany - 1, 128, 16}, {2048, 1, 128}).blocks == kMany - 1);
  CHECK(transposed({std::int64_t{1} << 40, std::int64_t{1} << 40}, {1, 1 << 20}).blocks == 0);
  CHECK(transposed({0, 128, 16}, {2048, 1, 128}).blocks == 0);
}
