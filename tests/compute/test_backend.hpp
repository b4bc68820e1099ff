// A backend that lives outside the library: it runs programs element by element in plain C++, and
// can be told to be not ready or to fail.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "compute/fold.hpp"
#include "forebay/compute/backend.hpp"
#include "tests/compute/support.hpp"

namespace forebay::testing {

struct BackendScript {
  bool first_is_ready = false;  ///< of two executors
  bool fails = false;           ///< the second one throws
  /// From its so-manieth run on its kernels do not compile; 0: they do.
  std::uint64_t uncompiled = 0;
  compute::Limits limits;
  std::uint64_t first_runs = 0, second_runs = 0;
};

/// Elementwise programs of four-byte types over linear leaves and scalars.
class ScriptedExecutor final : public compute::Executor {
 public:
  ScriptedExecutor(BackendScript& script, bool first) : script_(script), first_(first) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "scripted"; }
  compute::Readiness run(const compute::Program& program, const compute::Binding& binding,
                         const Stream& /*stream*/) override {
    if (first_ && !script_.first_is_ready) return compute::Readiness::not_ready;
    if (!first_ && script_.fails) throw DriverError("the launch failed", 719);
    if (!first_ && script_.uncompiled != 0 && script_.second_runs + 1 >= script_.uncompiled) {
      throw CompileError("a kernel does not compile", "log");
    }
    ++(first_ ? script_.first_runs : script_.second_runs);
    for (std::int64_t i = 0; i < checked_numel(binding.extents); ++i) {
      std::vector<compute::ConstantValue> values;
      for (std::size_t leaf = 0; leaf < program.leaves.size(); ++leaf) {
        const auto* const words = static_cast<const std::uint32_t*>(binding.leaves[leaf]);
        values.push_back({program.leaves[leaf].type, words[i]});
      }
      for (std::size_t s = 0; s < program.scalars.size(); ++s) {
        values.push_back({program.scalars[s], binding.scalars[s]});
      }
      for (const compute::Instruction& step : program.code) {
        const compute::ConstantValue all[] = {values[step.a], values[step.b], values[step.c]};
        const auto used = static_cast<std::size_t>(compute::operands(step.op));
        values.push_back({step.type, compute::fold(step.op, std::span(all).first(used)).value()});
      }
      for (std::size_t o = 0; o < program.outputs.size(); ++o) {
        static_cast<std::uint32_t*>(binding.outputs[o])[i] =
            static_cast<std::uint32_t>(values[program.outputs[o].value].bits);
      }
    }
    return compute::Readiness::done;
  }

 private:
  BackendScript& script_;
  bool first_;
};

class ScriptedBackend final : public compute::Backend {
 public:
  explicit ScriptedBackend(BackendScript& script) : script_(script) {
    executors_.push_back(std::make_unique<ScriptedExecutor>(script, true));
    executors_.push_back(std::make_unique<ScriptedExecutor>(script, false));
  }
  [[nodiscard]] compute::Limits limits() const noexcept override { return script_.limits; }
  [[nodiscard]] std::span<const std::unique_ptr<compute::Executor>> executors()
      const noexcept override {
    return executors_;
  }
  void matmul(const compute::MatmulArgs& /*args*/, const Stream& /*stream*/) override {
    throw Error("this backend multiplies no matrices");
  }
  void upload_many(std::span<const Upload> uploads, const Stream& /*stream*/) override {
    for (const Upload& u : uploads) std::memcpy(u.target, u.source, u.count * 4);
  }
  void download(const void* source, void* target, std::size_t bytes,
                const Stream& /*stream*/) override {
    std::memcpy(target, source, bytes);
  }
  void copy(const void* source, void* target, std::size_t bytes,
            const Stream& /*stream*/) override {
    std::memmove(target, source, bytes);
  }
  void run(const compute::CustomKernel& kernel, std::span<void* const> arguments, unsigned blocks,
           const Stream& /*stream*/) override {
    kernel.host(arguments, blocks);
  }

 private:
  BackendScript& script_;
  std::vector<std::unique_ptr<compute::Executor>> executors_;
};

/// A host device with the backend that `use` registers, which gives the factory before it.
inline Host host_with(compute::BackendFactory (*use)()) {
  const compute::BackendFactory before = use();
  Host host;
  compute::register_backend(DeviceKind::host, before);
  return host;
}

/// A host device with a scripted backend. One at a time.
struct ScriptedHost {
  static inline BackendScript script;
  Host host = host_with([] {
    script = {};
    return compute::register_backend(DeviceKind::host,
                                     [](Device& /*device*/) -> std::unique_ptr<compute::Backend> {
                                       return std::make_unique<ScriptedBackend>(script);
                                     });
  });
};

}  // namespace forebay::testing
