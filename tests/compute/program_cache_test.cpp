#include "compute/program_cache.hpp"

#include "tests/compute/support.hpp"

using namespace forebay;
using namespace forebay::compute;

namespace {

Program chain(std::size_t length) {
  Program program;
  program.leaves.resize(1);
  for (std::size_t i = 0; i < length; ++i) {
    program.code.push_back({.op = Op::neg, .type = DType::f32, .a = static_cast<Value>(i)});
  }
  program.outputs = {{static_cast<Value>(length)}};
  return program;
}

}  // namespace

TEST_CASE("one structure has one address") {
  Counter count{0};
  ProgramCache cache(8, count);
  const Program& first = cache.get(chain(3));
  CHECK(&cache.get(chain(3)) == &first);
  CHECK(&cache.get(chain(4)) != &first);
  CHECK(first == chain(3));
  CHECK(count.load() == 2);
}

TEST_CASE("order and wiring make different programs") {
  Counter count{0};
  ProgramCache cache(8, count);
  Program program = chain(0);
  program.leaves.resize(2);
  program.code = {{.op = Op::sub, .type = DType::f32, .a = 0, .b = 1}};
  Program swapped = program;
  std::swap(swapped.code[0].a, swapped.code[0].b);
  CHECK(&cache.get(program) != &cache.get(swapped));
  CHECK(structure_hash(program) != structure_hash(swapped));
}

TEST_CASE("the cache is bounded and forgets the least recently used") {
  Counter count{0};
  {
    ProgramCache cache(4, count);
    std::weak_ptr<int> oldest_kept;
    for (std::size_t i = 0; i < 10'000; ++i) {
      const Program& program = cache.get(chain(1 + i % 5000));
      if (i == 0) {
        auto kept = std::make_shared<int>(1);
        oldest_kept = kept;
        program.prepared.keep(&cache, kept);
      }
      REQUIRE(cache.size() <= 4);
      if (i < 100) (void)cache.get(chain(1));
      REQUIRE(oldest_kept.expired() == (i >= 103));  // four newer ones
    }
    CHECK(count.load() == 4);
  }
  CHECK(count.load() == 0);
}
