// Devices of the host compute by the interpreter's bytecode and kernels in the emulator. Linked
// into tests of tensors, it shows that what the planner makes of expressions runs there.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "compute/cuda/interpreter_arguments.hpp"
#include "compute/host/host_backend.hpp"
#include "tests/compute/cuda/emulator.hpp"
#include "tests/compute/cuda/interpreted_kernels.hpp"

namespace forebay::test {
namespace {

using compute::Backend;

class EmulatedExecutor final : public compute::Executor {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "emulated-interpreter"; }
  compute::Readiness run(const compute::Program& program, const compute::Binding& binding,
                         const Stream& /*stream*/) override {
    const cuda::Bytecode bytecode(program);
    cuda::InterpreterPlan plan =
        cuda::plan_interpretation(program, bytecode, binding, 132, cuda::kLeastSharedLimit);
    if (plan.launch.blocks == 0) return compute::Readiness::done;
    const cuda::ReducePlan& reduction = plan.launch.choices.plan;
    partials_.resize(std::max(partials_.size(),
                              reduction.partials() * cuda::kMostPartial / sizeof(std::uint64_t)));
    plan.launch.choices.partials = partials_.data();
    cuda::InterpreterArguments arguments(program, bytecode, binding, plan);
    const auto parameter = parameter_of(plan, arguments.data());
    emulate(
        plan.launch.blocks, plan.launch.threads,
        [&] { interpret_thread(plan.kernel, parameter.data()); }, reduction.waiting());
    return compute::Readiness::done;
  }

 private:
  std::vector<std::uint64_t> partials_;  // 0 between runs
};

/// But for programs, the host's.
class InterpretedBackend final : public Backend {
 public:
  explicit InterpretedBackend(Device& device) : host_(compute::make_host_backend(device)) {
    executors_.push_back(std::make_unique<EmulatedExecutor>());
  }
  [[nodiscard]] compute::Limits limits() const noexcept override { return cuda::kLimits; }
  [[nodiscard]] std::span<const std::unique_ptr<compute::Executor>> executors()
      const noexcept override {
    return executors_;
  }
  [[nodiscard]] std::span<std::uint64_t> mailboxes() override { return mailboxes_; }
  void matmul(const compute::MatmulArgs& args, const Stream& stream) override {
    host_->matmul(args, stream);
  }
  void upload_many(std::span<const Upload> uploads, const Stream& stream) override {
    host_->upload_many(uploads, stream);
  }
  void download(const void* source, void* target, std::size_t bytes,
                const Stream& stream) override {
    host_->download(source, target, bytes, stream);
  }
  void copy(const void* source, void* target, std::size_t bytes, const Stream& stream) override {
    host_->copy(source, target, bytes, stream);
  }
  void run(const compute::CustomKernel& kernel, std::span<void* const> arguments, unsigned blocks,
           const Stream& stream) override {
    host_->run(kernel, arguments, blocks, stream);
  }

 private:
  std::unique_ptr<Backend> host_;
  std::vector<std::unique_ptr<compute::Executor>> executors_;
  std::array<std::uint64_t, 64> mailboxes_{};
};

[[maybe_unused]] const compute::BackendFactory kBefore =
    compute::register_backend(DeviceKind::host, [](Device& device) -> std::unique_ptr<Backend> {
      return std::make_unique<InterpretedBackend>(device);
    });

}  // namespace
}  // namespace forebay::test
