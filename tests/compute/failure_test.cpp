// A kernel that cannot be made in the middle of a graph of tensors: what was computed stays, the
// rest is computed when somebody asks again, and nothing is left behind.
#include "tests/compute/test_backend.hpp"

using namespace forebay;
using namespace forebay::testing;

TEST_CASE("a kernel that cannot be made in the middle of an expression leaves the rest to retry") {
  const ScriptedHost scripted;
  const Host& host = scripted.host;
  BackendScript& script = ScriptedHost::script;
  const auto live = [&] { return host.device.pool().stats().allocations.live; };
  const auto run = [&](std::uint64_t broken) {
    const std::uint64_t before = live();
    {
      const Tensor x = host.f32({1, 2, 3});
      // More operations than one program holds, so that building and reading are several launches;
      // whoever holds a part keeps it.
      std::vector<Tensor> held;
      Tensor sum = x;
      const std::uint64_t first = script.second_runs;
      script.uncompiled = broken == 0 ? 0 : first + broken;
      bool threw = false;
      // Whatever throws is tried again once the kernel can be made.
      const auto until_done = [&](const auto& work) {
        try {
          work();
        } catch (const CompileError& error) {
          CHECK(std::string(error.what()).find("does not compile") != std::string::npos);
          threw = true;
          const std::uint64_t at_failure = live();
          CHECK_THROWS_AS(work(), CompileError);  // nor the next time
          CHECK(live() == at_failure);
          script.uncompiled = 0;
          work();
        }
      };
      for (int i = 0; i < 700; ++i) {
        until_done([&] {
          Tensor next = sum + 1.0F;
          sum = next;
        });
        if (i % 100 == 50) held.push_back(sum);
      }
      until_done([&] { sum.eval(); });
      CHECK(threw == (broken != 0));
      for (std::size_t k = 0; k < held.size(); ++k) {
        const auto added = static_cast<float>(100 * k + 51);
        until_done([&] {
          CHECK(held[k].to_host<float>() == std::vector<float>{1 + added, 2 + added, 3 + added});
        });
      }
      CHECK(sum.to_host<float>() == std::vector<float>{701, 702, 703});
      CHECK(x.to_host<float>() == std::vector<float>{1, 2, 3});
    }
    script.uncompiled = 0;
    CHECK(live() == before);
    return script.second_runs;
  };
  const std::uint64_t before = script.second_runs;
  const std::uint64_t launches = run(0) - before;
  REQUIRE(launches >= 3);
  for (std::uint64_t broken = 1; broken <= launches; ++broken) {
    INFO("launch " << broken << " of " << launches);
    run(broken);
  }
  CHECK(host.device.pool().validate() == "");
}
