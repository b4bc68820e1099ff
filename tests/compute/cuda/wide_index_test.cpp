// Indices and offsets around 2^31, by both tiers in the emulator: on memory of which only the pages
// exist that the chosen blocks touch.
#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <utility>

#include "compute/cuda/codegen.hpp"
#include "compute/cuda/interpreter_arguments.hpp"
#include "compute/cuda/launch_plan.hpp"
#include "tests/compute/cuda/emulator.hpp"
#include "tests/compute/cuda/interpreted_kernels.hpp"
#include "tests/compute/cuda/sample_programs.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/sparse_memory.hpp"

using namespace forebay;
using namespace forebay::test;

namespace {

constexpr std::int64_t kTwo31 = std::int64_t{1} << 31;

compute::Program wide_sample(const std::string& name) {
  for (const NamedProgram& named : sample_programs()) {
    if (named.name == name) return named.program;
  }
  throw Error("no sample " + name);
}

/// The blocks that hold the elements, if the grid's blocks have equally many one after the other.
std::vector<unsigned> blocks_of(const std::vector<std::int64_t>& elements, std::int64_t each) {
  std::set<unsigned> blocks;
  for (const std::int64_t element : elements) {
    blocks.insert(static_cast<unsigned>(element / each));
  }
  return {blocks.begin(), blocks.end()};
}

/// Runs the blocks of `elements` by the generated kernel of that name, or interpreted.
void run_around(const std::string& name, const compute::Program& program,
                const compute::Binding& binding, const std::vector<std::int64_t>& elements,
                bool interpreted) {
  if (interpreted) {
    const cuda::Bytecode bytecode(program);
    const cuda::InterpreterPlan plan =
        cuda::plan_interpretation(program, bytecode, binding, 132, cuda::kLeastSharedLimit);
    cuda::InterpreterArguments arguments(program, bytecode, binding, plan);
    const auto blocks =
        blocks_of(elements, std::int64_t{plan.launch.threads} * cuda::kFbMapElements);
    emulate_some(blocks, plan.launch.blocks, plan.launch.threads,
                 [&] { interpret_thread(plan.kernel, arguments.data()); });
    return;
  }
  const cuda::KernelShape shape = cuda::kernel_shape(program);
  const cuda::LaunchPlan launch = cuda::plan_launch(program, shape, binding, 132);
  cuda::ArgumentBuffer arguments(program, binding, launch.choices);
  const EmulatedKernel* const kernel = emulated_kernel(name.c_str());
  REQUIRE(kernel != nullptr);
  REQUIRE(arguments.size() == kernel->argument_bytes);
  const auto blocks = blocks_of(elements, std::int64_t{launch.threads} * shape.per_thread());
  emulate_some(blocks, launch.blocks, launch.threads, [&] { kernel->thread(arguments.data()); });
}

/// What an element of a tensor holds in these tests.
std::uint8_t pattern(std::int64_t offset) {
  return static_cast<std::uint8_t>(offset * 7 + offset / 1000 + 1);
}

}  // namespace

TEST_CASE("bytes just below, at and above 2^31 elements are all written, by both tiers") {
  const compute::Program program = wide_sample("wide_bytes");  // x + x
  for (const std::int64_t count : {kTwo31 - 1, kTwo31, kTwo31 + 1, kTwo31 + 100'000}) {
    for (const bool interpreted : {false, true}) {
      for (const std::int64_t shift : {0, 1}) {  // by 16 bytes at a time, and one by one
        INFO(count << " elements, interpreted " << interpreted << ", shift " << shift);
        const SparseMemory source(static_cast<std::size_t>(count) + 4096);
        const SparseMemory target(static_cast<std::size_t>(count) + 4096);
        if (!source || !target) return;
        std::set<std::int64_t> elements;
        for (const std::int64_t near : {std::int64_t{0}, kTwo31 - 65536, kTwo31, count}) {
          for (std::int64_t e = near - 5; e < near + 5; ++e) {
            if (e >= 0 && e < count) elements.insert(e);
          }
        }
        for (const std::int64_t e : elements) {
          *source.at<std::uint8_t>(static_cast<std::size_t>(shift + e)) = pattern(e);
        }
        const compute::Binding binding{.extents = {count},
                                       .leaves = {source.at(static_cast<std::size_t>(shift))},
                                       .strides = {{}},
                                       .outputs = {target.at(static_cast<std::size_t>(shift))}};
        run_around("wide_bytes", program, binding, {elements.begin(), elements.end()}, interpreted);
        for (const std::int64_t e : elements) {
          const auto want = static_cast<std::uint8_t>(2 * pattern(e));
          CHECK(*target.at<std::uint8_t>(static_cast<std::size_t>(shift + e)) == want);
        }
        for (std::int64_t e = count; e < count + 64; ++e) {
          CHECK(*target.at<std::uint8_t>(static_cast<std::size_t>(shift + e)) == 0);
        }
      }
    }
  }
}

TEST_CASE("strides lead beyond 2^31 elements, forward and backward, in four dimensions") {
  // Two by three by two by five elements.
  const compute::Program program = wide_sample("wide_views");
  const Dims extents{2, 3, 2, 5};
  for (const Dims& strides :
       {Dims{kTwo31 + 7, 3'000'001, 1'000'003, 1009},  // one step beyond
        Dims{kTwo31 - 40, 20, 10, 2},                  // a span from below to above
        Dims{-(kTwo31 + 7), 3'000'001, -1'000'003, 1009}, Dims{1009, -(kTwo31 / 2 + 11), 0, 3},
        Dims{3, 7, 100, kTwo31 / 4 + 1}}) {
    std::int64_t least = 0;
    std::int64_t most = 0;
    for (std::size_t d = 0; d < extents.size(); ++d) {
      const std::int64_t reach = (extents[d] - 1) * strides[d];
      (reach < 0 ? least : most) += reach;
    }
    REQUIRE(most - least >= kTwo31);
    const SparseMemory source(static_cast<std::size_t>(most - least + 1));
    if (!source) return;
    std::vector<std::int64_t> offsets;
    for (std::int64_t i = 0; i < 60; ++i) {
      std::int64_t rest = i;
      std::int64_t offset = 0;
      for (std::size_t d = extents.size(); d-- > 0; rest /= extents[d]) {
        offset += rest % extents[d] * strides[d];
      }
      offsets.push_back(offset);
      *source.at<std::uint8_t>(static_cast<std::size_t>(offset - least)) = pattern(offset - least);
    }
    for (const bool interpreted : {false, true}) {
      INFO("strides " << to_string(strides) << ", interpreted " << interpreted);
      std::array<std::uint8_t, 64> target{};
      const compute::Binding binding{.extents = extents,
                                     .leaves = {source.at(static_cast<std::size_t>(-least))},
                                     .strides = {strides},
                                     .outputs = {target.data()}};
      run_around("wide_views", program, binding, {0, 59}, interpreted);
      for (std::size_t i = 0; i < offsets.size(); ++i) {
        CHECK(target[i] == static_cast<std::uint8_t>(2 * pattern(offsets[i] - least)));
      }
      CHECK(target[60] == 0);
    }
  }
}

TEST_CASE("a small view read over more than 2^32 elements has wide coordinates") {
  // Two by five elements, each row repeated: what counts is how much is written.
  const compute::Program program = wide_sample("wide_views");
  const std::int64_t rows = 2 * kTwo31 / 10 + 13;
  const Dims extents{2, 1, rows, 5};
  const std::int64_t count = 10 * rows;
  REQUIRE(count > 2 * kTwo31);
  std::array<std::uint8_t, 10> small{};
  for (std::size_t i = 0; i < small.size(); ++i) small[i] = static_cast<std::uint8_t>(3 * i + 1);
  const SparseMemory target(static_cast<std::size_t>(count) + 4096);
  if (!target) return;
  std::vector<std::int64_t> elements{0, 7, count - 1};
  for (const std::int64_t near : {kTwo31, 2 * kTwo31}) {
    for (std::int64_t e = near - 2; e < near + 6; ++e) elements.push_back(e);
  }
  for (const bool interpreted : {false, true}) {
    INFO("interpreted " << interpreted);
    for (const std::int64_t e : elements) *target.at<std::uint8_t>(static_cast<std::size_t>(e)) = 0;
    const compute::Binding binding{.extents = extents,
                                   .leaves = {small.data()},
                                   .strides = {{5, 0, 0, 1}},
                                   .outputs = {target.at()}};
    run_around("wide_views", program, binding, elements, interpreted);
    for (const std::int64_t e : elements) {
      const std::size_t at = static_cast<std::size_t>(e / (5 * rows) * 5 + e % 5);
      CHECK(*target.at<std::uint8_t>(static_cast<std::size_t>(e)) ==
            static_cast<std::uint8_t>(2 * small[at]));
    }
  }
}

TEST_CASE("tiles reach beyond 2^31 elements, by both tiers") {
  // By tiles of 40 by 64 bytes, a block each of 2 by 2^20 of them has.
  const compute::Program program = wide_sample("wide_views");
  constexpr std::int64_t kMiddle = std::int64_t{1} << 20;
  constexpr std::int64_t kTile = 40 * 64;
  const Dims extents{2, 40, kMiddle, 64};
  const Dims strides{kTile * kMiddle, 1, kTile, 40};
  const SparseMemory source(static_cast<std::size_t>(2 * kTile * kMiddle));
  const SparseMemory target(static_cast<std::size_t>(2 * kTile * kMiddle));
  if (!source || !target) return;
  for (const auto& [outer, middle] :
       {std::pair<std::int64_t, std::int64_t>{0, 0}, {0, kMiddle - 1}, {1, 5}, {1, kMiddle - 1}}) {
    std::vector<std::pair<std::int64_t, std::int64_t>> places;  // in the source, in the target
    for (std::int64_t across = 0; across < 40; ++across) {
      for (std::int64_t inner = 0; inner < 64; ++inner) {
        places.emplace_back(outer * strides[0] + across + middle * strides[2] + inner * strides[3],
                            ((outer * 40 + across) * kMiddle + middle) * 64 + inner);
      }
    }
    for (const auto& [from, to] : places) {
      *source.at<std::uint8_t>(static_cast<std::size_t>(from)) = pattern(from);
    }
    const compute::Binding binding{.extents = extents,
                                   .leaves = {source.at(0)},
                                   .strides = {strides},
                                   .outputs = {target.at(0)}};
    const auto blocks = [&](const cuda::TilePlan& tiles) {
      const unsigned each = tiles.inner_tiles * tiles.across_tiles;
      std::vector<unsigned> chosen;
      for (unsigned n = 0; n < each; ++n) {
        chosen.push_back(static_cast<unsigned>(outer * kMiddle + middle) * each + n);
      }
      return chosen;
    };
    for (const bool interpreted : {false, true}) {
      INFO("outer " << outer << ", middle " << middle << ", interpreted " << interpreted);
      if (interpreted) {
        const cuda::Bytecode bytecode(program);
        const cuda::InterpreterPlan plan =
            cuda::plan_interpretation(program, bytecode, binding, 132, cuda::kLeastSharedLimit);
        REQUIRE(plan.kernel == cuda::InterpreterKernel::map_tiled);
        CHECK(plan.length == cuda::ParameterLength::full);
        cuda::InterpreterArguments arguments(program, bytecode, binding, plan);
        emulate_some(blocks(plan.launch.choices.tiles), plan.launch.blocks, plan.launch.threads,
                     [&] { interpret_thread(plan.kernel, arguments.data()); });
      } else {
        const cuda::LaunchPlan launch =
            cuda::plan_launch(program, cuda::kernel_shape(program, 1), binding, 132);
        cuda::ArgumentBuffer arguments(program, binding, launch.choices);
        const EmulatedKernel* const kernel = emulated_kernel("wide_views_tiled");
        REQUIRE(kernel != nullptr);
        emulate_some(blocks(launch.choices.tiles), launch.blocks, launch.threads,
                     [&] { kernel->thread(arguments.data()); });
      }
      const auto right = [&](const auto& place) {
        auto& got = *target.at<std::uint8_t>(static_cast<std::size_t>(place.second));
        return std::exchange(got, std::uint8_t{0}) ==
               static_cast<std::uint8_t>(2 * pattern(place.first));
      };
      CHECK(std::all_of(places.begin(), places.end(), right));
    }
  }
}
