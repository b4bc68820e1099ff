// The tiers of a CUDA device: which executor runs a program, and when it changes.
#include "compute/cuda/executors.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "compute/cuda/cuda_executor.hpp"
#include "forebay/pool/error.hpp"
#include "runtime/cuda/nvrtc_compiler.hpp"
#include "tests/compute/cuda/fake_cuda.hpp"
#include "tests/compute/cuda/fake_image.hpp"
#include "tests/compute/cuda/sample_programs.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/driver_pieces.hpp"

using namespace forebay;
using namespace forebay::test;
using compute::Binding;
using compute::Program;
using compute::Readiness;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kLong{30'000};

Config config_of(FusionTier tier) {
  Config config = test::fake_config();
  config.fusion.tier = tier;
  return config;
}

/// A compiler that does as the test says, in place of NVRTC.
class ScriptedCompiler final : public cuda::Compiler {
 public:
  struct Script {
    std::mutex mutex;
    std::condition_variable changed;
    bool held = false;
    bool fails = false;
    unsigned begun = 0;
    std::string cubin;  // of the one kernel that there is

    void release() {
      const std::lock_guard lock(mutex);
      held = false;
      changed.notify_all();
    }
    void wait_for(unsigned count) {
      std::unique_lock lock(mutex);
      REQUIRE(changed.wait_for(lock, kLong, [&] { return begun >= count; }));
    }
  };

  explicit ScriptedCompiler(std::shared_ptr<Script> script)
      : Compiler(13000, {"sm_90", false}), script_(std::move(script)) {}

  std::string compile(std::string_view /*source*/, const std::string& name) override {
    std::unique_lock lock(script_->mutex);
    ++script_->begun;
    script_->changed.notify_all();
    script_->changed.wait(lock, [&] { return !script_->held; });
    if (script_->fails) throw CompileError(name + " does not compile", "log");
    return script_->cubin;
  }

 private:
  std::shared_ptr<Script> script_;
};

/// A cubin with the kernel of a reduction, which the fake driver takes for any.
const std::string& some_cubin() {
  static const std::string cubin = cuda::compile_cubin(
      *driver::NvrtcApi::open(), "extern \"C\" __global__ void forebay_reduce() {}",
      "forebay_reduce", {"sm_90", false});
  return cubin;
}

/// The executors of a device over a scripted compiler.
struct TiersSetting {
  explicit TiersSetting(FusionTier tier = FusionTier::automatic, Config config = {})
      : cuda((config.fusion.tier = tier, config.kernels.cache.enabled = false,
              config.kernels.prepare = false, config),
             true) {
    script->cubin = some_cubin();
    kernels = std::make_shared<cuda::KernelCache>(
        *cuda.device, std::make_unique<ScriptedCompiler>(script), nullptr);
    background = std::make_unique<cuda::CudaExecutor>(*cuda.device, scratch, *kernels,
                                                      cuda::KernelWait::background);
  }
  ~TiersSetting() {
    if (!held_to_the_end) script->release();
    kernels->clear();
  }

  Readiness run(compute::Executor& executor) { return run(executor, sum); }
  Readiness run(compute::Executor& executor, const Program& program) {
    alignas(16) static float data[4] = {};
    return executor.run(program,
                        Binding{.extents = {1000},
                                .leaves = {data},
                                .strides = {{}},
                                .scalars = {},
                                .outputs = {},
                                .reduction = data},
                        cuda.stream);
  }

  bool held_to_the_end = false;  ///< the compiler stays as it is
  FakeCuda cuda;
  std::shared_ptr<ScriptedCompiler::Script> script = std::make_shared<ScriptedCompiler::Script>();
  std::shared_ptr<cuda::KernelCache> kernels;
  cuda::StreamScratch scratch{*cuda.device};
  std::unique_ptr<cuda::CudaExecutor> background;
  KernelCounters& counters = cuda.device->counters().kernels;
  Program sum = sum_program({DType::f32, compute::Access::linear}, 1, 0b1);
};

std::vector<std::string> names(FusionTier tier, const cuda::InterpreterImage& image) {
  FakeCuda cuda(config_of(tier));
  cuda::StreamScratch scratch(*cuda.device);
  std::vector<std::string> names;
  for (const auto& executor : cuda::make_executors(*cuda.device, scratch, image)) {
    names.emplace_back(executor->name());
  }
  return names;
}

}  // namespace

TEST_CASE("fusion.tier says which executors there are, and the last one is always ready") {
  using Names = std::vector<std::string>;
  CHECK(names(FusionTier::automatic, kFakeImage) ==
        Names{"cuda-background", "cuda-interpreter", "cuda"});
  CHECK(names(FusionTier::interpret, kFakeImage) == Names{"cuda-interpreter", "cuda"});
  CHECK(names(FusionTier::compile, kFakeImage) == Names{"cuda"});
  // Built without nvcc, programs wait.
  CHECK(names(FusionTier::automatic, {}) == Names{"cuda"});
  CHECK(names(FusionTier::interpret, {}) == Names{"cuda"});
}

TEST_CASE("a driver that does not take the interpreter leaves programs to their kernels") {
  FakeCuda cuda(config_of(FusionTier::automatic));
  cuda::StreamScratch scratch(*cuda.device);
  cuda.driver.fail("cuModuleLoadData", 1, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  const auto executors = cuda::make_executors(*cuda.device, scratch, kFakeImage);
  REQUIRE(executors.size() == 1);
  CHECK(executors.front()->name() == "cuda");
}

TEST_CASE("a program's kernel is wanted from its second run on, and runs it once it is ready") {
  TiersSetting setting;
  setting.script->held = true;
  CHECK(setting.run(*setting.background) == Readiness::not_ready);
  CHECK(setting.script->begun == 0);  // used once, it may never be used again
  CHECK(setting.run(*setting.background) == Readiness::not_ready);
  setting.script->wait_for(1);
  for (int i = 0; i < 5; ++i) CHECK(setting.run(*setting.background) == Readiness::not_ready);
  CHECK(setting.cuda.driver.launches() == 0);
  setting.script->release();
  REQUIRE(setting.kernels->settle(kLong));
  for (int i = 0; i < 5; ++i) CHECK(setting.run(*setting.background) == Readiness::done);
  CHECK(setting.counters.compiled_launches == 5);
  CHECK(setting.counters.compiled == 1);
  CHECK(setting.counters.compile_wait_us == 0);
  CHECK(setting.script->begun == 1);
}

TEST_CASE("kernels.compile_after says from which run on") {
  Config config;
  config.kernels.compile_after = 4;
  TiersSetting setting(FusionTier::automatic, config);
  for (int i = 0; i < 3; ++i) (void)setting.run(*setting.background);
  CHECK(setting.counters.queued == 0);
  CHECK(setting.script->begun == 0);
  (void)setting.run(*setting.background);
  REQUIRE(setting.kernels->settle(kLong));
  CHECK(setting.script->begun == 1);
}

TEST_CASE("who waits for all kernels has that of a program that ran once") {
  Config config;
  config.kernels.compile_after = 1000;
  TiersSetting setting(FusionTier::automatic, config);
  CHECK(setting.run(*setting.background) == Readiness::not_ready);
  REQUIRE(setting.kernels->settle(kLong));
  CHECK(setting.script->begun == 1);
  CHECK(setting.run(*setting.background) == Readiness::done);
}

TEST_CASE("a program that does not compile is never ready, and is not compiled again") {
  TiersSetting setting;
  setting.script->fails = true;
  for (int i = 0; i < 10; ++i) {
    CHECK(setting.run(*setting.background) == Readiness::not_ready);
    REQUIRE(setting.kernels->settle(kLong));
  }
  CHECK(setting.script->begun == 1);
  CHECK(setting.counters.failed == 1);
  // Who waits for it hears why.
  cuda::CudaExecutor waiting(*setting.cuda.device, setting.scratch, *setting.kernels,
                             cuda::KernelWait::wait);
  CHECK_THROWS_AS(setting.run(waiting), CompileError);
}

TEST_CASE("a kernel that the driver does not load leaves its program interpreted") {
  TiersSetting setting;
  setting.cuda.driver.fail("cuModuleLoadData", 1, CUDA_ERROR_OUT_OF_MEMORY);
  for (int i = 0; i < 4; ++i) {
    CHECK(setting.run(*setting.background) == Readiness::not_ready);
    REQUIRE(setting.kernels->settle(kLong));
  }
  CHECK(setting.counters.failed == 1);
  CHECK(setting.counters.loaded == 0);
}

TEST_CASE("a compilation that hangs holds up neither programs nor the end of the device") {
  auto setting = std::make_unique<TiersSetting>();
  const auto script = setting->script;
  script->held = true;
  for (int i = 0; i < 2; ++i) (void)setting->run(*setting->background);
  script->wait_for(1);
  const auto start = std::chrono::steady_clock::now();
  CHECK_FALSE(setting->kernels->settle(milliseconds(10)));
  setting->kernels->clear();
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
  CHECK(setting->counters.compiled == 0);
  // It ends after the device, and touches nothing that has gone.
  const std::uint64_t late = FakeDriver::calls_after_end();
  const std::weak_ptr<cuda::KernelCache> cache = setting->kernels;
  setting->held_to_the_end = true;
  setting.reset();
  CHECK_FALSE(cache.expired());
  script->release();
  for (int i = 0; i < 3000 && !cache.expired(); ++i) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  CHECK(cache.expired());
  CHECK(FakeDriver::calls_after_end() == late);
}

TEST_CASE("while a stream captures, choosing the tier neither compiles nor loads on its thread") {
  TiersSetting setting;
  const driver::CudaApi& api = *setting.cuda.driver.api();
  setting.script->held = true;
  const auto stream = static_cast<CUstream>(setting.cuda.stream.native());
  REQUIRE(api.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
  for (int i = 0; i < 4; ++i) CHECK(setting.run(*setting.background) == Readiness::not_ready);
  setting.script->wait_for(1);
  setting.script->release();  // loads on its own thread, which may
  REQUIRE(setting.kernels->settle(kLong));
  CHECK(setting.run(*setting.background) == Readiness::done);
  CUgraph graph = nullptr;
  CHECK(api.cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
  CHECK(api.cuGraphDestroy(graph) == CUDA_SUCCESS);
}

TEST_CASE("a program may be forgotten while its kernel is being made") {
  TiersSetting setting;
  setting.script->held = true;
  {
    const Program brief = sum_program({DType::i32, compute::Access::linear}, 1, 0b1);
    for (int i = 0; i < 2; ++i) (void)setting.run(*setting.background, brief);
    setting.script->wait_for(1);
  }
  setting.script->release();
  REQUIRE(setting.kernels->settle(kLong));
  CHECK(setting.counters.compiled == 1);
}
