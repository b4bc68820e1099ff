#include <limits>
#include <set>

#include "tests/compute/support.hpp"

namespace {
#include "compute/prelude.inl"
}  // namespace

using namespace forebay;
using namespace forebay::testing;

TEST_CASE("constants of every shape and type") {
  const Host host;
  for (const Dims& shape : {Dims(), Dims{1}, Dims{5}, Dims{2, 3}, Dims{0}, Dims{3, 0, 2}}) {
    const auto n = static_cast<std::size_t>(checked_numel(shape));
    CHECK(zeros(shape, host.device).to_host<float>() == std::vector<float>(n, 0.0F));
    CHECK(ones(shape, host.device).to_host<float>() == std::vector<float>(n, 1.0F));
    CHECK(ones(shape, host.device, DType::i32).to_host<std::int32_t>() ==
          std::vector<std::int32_t>(n, 1));
    CHECK(full(shape, -2.5F, host.device).to_host<float>() == std::vector<float>(n, -2.5F));
    CHECK(full(shape, std::numeric_limits<std::int32_t>::min(), host.device)
              .to_host<std::int32_t>() ==
          std::vector<std::int32_t>(n, std::numeric_limits<std::int32_t>::min()));
    const Tensor e = empty(shape, host.device, DType::i32);
    CHECK(e.shape() == shape);
    CHECK(e.dtype() == DType::i32);
    CHECK(e.to_host<std::int32_t>().size() == n);
  }
}

TEST_CASE("uploads convert") {
  const Host host;
  const std::vector<std::int32_t> whole{0, 1, -1, std::numeric_limits<std::int32_t>::max(),
                                        std::numeric_limits<std::int32_t>::min()};
  CHECK(from_host<std::int32_t>(whole, {5}, host.device, DType::f32).to_host<float>() ==
        std::vector<float>{0, 1, -1, 2147483648.0F, -2147483648.0F});
  CHECK(from_host<std::int32_t>(whole, {5}, host.device).to_host<std::int32_t>() == whole);
  const std::vector<float> broken{0.9F, -0.9F, 3e9F, -3e9F,
                                  std::numeric_limits<float>::quiet_NaN()};
  CHECK(from_host<float>(broken, {5}, host.device, DType::i32).to_host<std::int32_t>() ==
        std::vector<std::int32_t>{0, 0, std::numeric_limits<std::int32_t>::max(),
                                  std::numeric_limits<std::int32_t>::min(), 0});
  CHECK(same(from_host<float>(broken, {5}, host.device).to_host<float>(), broken));
}

TEST_CASE("what was uploaded may change") {
  const Host host;
  std::vector<float> values{1, 2, 3};
  const Tensor t = from_host<float>(values, {3}, host.device);
  values = {7, 8, 9};
  CHECK(t.to_host<float>() == std::vector<float>{1, 2, 3});
}

TEST_CASE("large uploads arrive whole, with any number of threads") {
  for (const std::uint32_t threads : {1U, 3U}) {
    Config config;
    config.host_threads = threads;
    const Host host(config);
    std::vector<std::int32_t> values(300'001);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int32_t>(i % 1013);
    const auto back =
        from_host<std::int32_t>(values, {300'001}, host.device, DType::f32).to_host<float>();
    bool equal = true;
    for (std::size_t i = 0; i < values.size(); ++i) {
      equal = equal && back[i] == static_cast<float>(values[i]);
    }
    CHECK(equal);
  }
}

TEST_CASE("many buffers are uploaded together") {
  const Host host;
  std::vector<std::vector<float>> buffers;
  for (int k = 0; k < 5; ++k)
    buffers.push_back({static_cast<float>(k), 10.0F + static_cast<float>(k)});
  const std::vector<std::span<const float>> spans(buffers.begin(), buffers.end());
  const std::vector<Tensor> tensors = from_host_many<float>(spans, {2}, host.device);
  REQUIRE(tensors.size() == 5);
  for (std::size_t k = 0; k < 5; ++k) CHECK(tensors[k].to_host<float>() == buffers[k]);
  CHECK(from_host_many<float>(std::vector<std::span<const float>>{}, {2}, host.device).empty());
  const std::vector<std::span<const float>> nothing(3);
  CHECK(from_host_many<float>(nothing, {0, 4}, host.device).size() == 3);
  CHECK_THROWS_AS(from_host_many<float>(spans, {3}, host.device), ShapeError);
}

TEST_CASE("bad shapes are named") {
  const Host host;
  const std::vector<float> six(6);
  const std::string message = message_of<ShapeError>([&] {
    (void)from_host<float>(six, {2, 4}, host.device);
  });
  CHECK(contains(message, "[2, 4]"));
  CHECK(contains(message, "6"));
  CHECK(contains(message_of<ShapeError>([&] { (void)zeros({2, -3}, host.device); }), "[2, -3]"));
  CHECK_THROWS_AS(empty({-1}, host.device), ShapeError);
  CHECK_THROWS_AS(from_host<float>(six, {-6}, host.device), ShapeError);
  CHECK_THROWS_AS(full({1 << 30, 1 << 30, 1 << 30}, 1.0F, host.device), ShapeError);
  CHECK_THROWS_AS(random_uniform({-1}, 1, host.device), ShapeError);
}

TEST_CASE("a number that is no type is refused by all that take a type") {
  const Host host;
  const Tensor x = host.f32({1, 2, 3});
  const std::vector<float> three{1, 2, 3};
  for (const int number : {8, 99, 255}) {
    const auto none = static_cast<DType>(number);
    for (const std::function<void()>& use : std::vector<std::function<void()>>{
             [&] { (void)x.to(none); }, [&] { (void)empty({1}, host.device, none); },
             [&] { (void)full({1}, 1, host.device, none); },
             [&] { (void)zeros({1}, host.device, none); },
             [&] { (void)from_host<float>(three, {3}, host.device, none); },
             [&] { (void)arange(0, 3, 1, host.device, none); },
             [&] { (void)random_uniform({2}, 1, host.device, none); },
             [&] { (void)random_normal({2}, 1, host.device, none); }}) {
      CHECK(message_of<ShapeError>(use) ==
            "the number " + std::to_string(number) + " is no type of elements");
    }
  }
}

TEST_CASE("random numbers are Philox by index") {
  const Host host;
  // Salmon et al.'s known answers for the counter 0: key 0, and all ones.
  const auto first_word = [&](std::uint64_t key) {
    return random_uniform({3}, key, host.device).to_host<float>()[0];
  };
  CHECK(first_word(0) == static_cast<float>(0x6627e8d5U >> 8) * 0x1p-24F);
  // The low word of the key, then the high one.
  const auto keyed = random_uniform({3}, 7ULL << 32 | 5, host.device).to_host<float>();
  CHECK(keyed[2] == fb_random_uniform(5, 7, 2));
  // The same numbers in any shape, expression or piece of work.
  const auto flat = random_uniform({5000}, 42, host.device).to_host<float>();
  CHECK(random_uniform({50, 100}, 42, host.device).to_host<float>() == flat);
  const auto doubled = (random_uniform({5000}, 42, host.device) * 2.0).to_host<float>();
  bool equal = true;
  for (std::size_t i = 0; i < flat.size(); ++i) equal = equal && doubled[i] == 2 * flat[i];
  CHECK(equal);
  CHECK(random_uniform({5000}, 43, host.device).to_host<float>() != flat);
  CHECK(random_uniform({5000}, 42ULL << 32, host.device).to_host<float>() != flat);
  CHECK(random_uniform({0}, 1, host.device).to_host<float>().empty());
}

TEST_CASE("a random tensor that is broadcast is drawn once in its own shape") {
  const Host host;
  const Tensor row = random_uniform({1, 4}, 9, host.device);
  const auto sum = (row + zeros({3, 4}, host.device)).to_host<float>();
  const auto drawn = random_uniform({4}, 9, host.device).to_host<float>();
  for (std::size_t i = 0; i < 12; ++i) CHECK(sum[i] == drawn[i % 4]);
}

TEST_CASE("random numbers have the moments of their distributions") {
  const Host host;
  const std::int64_t n = 200'000;
  const Tensor uniform = random_uniform({n}, 7, host.device).eval();
  const auto values = uniform.to_host<float>();
  bool inside = true;
  for (const float v : values) {
    inside = inside && v >= 0.0F && v < 1.0F && v * 0x1p24F == std::floor(v * 0x1p24F);
  }
  CHECK(inside);
  CHECK(uniform.mean().item() == Approx(0.5).margin(0.005));
  const Tensor normal = random_normal({n}, 7, host.device).eval();
  CHECK(normal.mean().item() == Approx(0.0).margin(0.01));
  CHECK((normal * normal).mean().item() == Approx(1.0).margin(0.02));
  CHECK((normal * normal * normal * normal).mean().item() == Approx(3.0).margin(0.15));
  const std::set<float> distinct(values.begin(), values.begin() + 1000);
  CHECK(distinct.size() > 990);
}

TEST_CASE("f16 and bf16 are drawn in f32, uniform ones never up to 1") {
  const Host host;
  const std::int64_t n = 200'000;
  const auto single = random_uniform({n}, 7, host.device).to_host<float>();
  for (const auto& [type, steps] :
       {std::pair{DType::f16, 0x1p11F}, std::pair{DType::bf16, 0x1p8F}}) {
    INFO(to_string(type));
    const Tensor uniform = random_uniform({n}, 7, host.device, type);
    CHECK(uniform.dtype() == type);
    const auto values = uniform.to(DType::f32).to_host<float>();
    bool cut = true;
    for (std::size_t i = 0; i < values.size(); ++i) {
      cut = cut && values[i] == std::floor(single[i] * steps) / steps;
    }
    CHECK(cut);
    CHECK(*std::max_element(values.begin(), values.end()) == 1 - 1 / steps);
    CHECK(*std::max_element(single.begin(), single.end()) > 1 - 0.5F / steps);
    const Tensor normal = random_normal({n}, 7, host.device, type);
    CHECK(normal.dtype() == type);
    CHECK(normal.to(DType::f32).to_host<float>() ==
          random_normal({n}, 7, host.device).to(type).to(DType::f32).to_host<float>());
  }
  CHECK(message_of<ShapeError>([&] { (void)random_uniform({2}, 1, host.device, DType::i32); }) ==
        "random_uniform has no form for i32");
  CHECK_THROWS_AS(random_normal({2}, 1, host.device, DType::boolean), ShapeError);
}
