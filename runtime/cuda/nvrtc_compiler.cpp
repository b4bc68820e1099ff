#include "runtime/cuda/nvrtc_compiler.hpp"

#include <pthread.h>

#include <charconv>
#include <csignal>
#include <exception>
#include <utility>
#include <vector>

#include "forebay/pool/error.hpp"
#include "runtime/cuda/compilations.hpp"
#include "runtime/process.hpp"

namespace forebay::cuda {
namespace {

using driver::NvrtcApi;

/// Ends the program on every way out.
class Program {
 public:
  Program(const NvrtcApi& nvrtc, const std::string& source, const std::string& name)
      : nvrtc_(nvrtc) {
    check(nvrtc,
          nvrtc.nvrtcCreateProgram(&program_, source.c_str(), name.c_str(), 0, nullptr, nullptr),
          "nvrtcCreateProgram");
  }
  ~Program() { nvrtc_.nvrtcDestroyProgram(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  [[nodiscard]] nvrtcProgram get() const noexcept { return program_; }

  [[nodiscard]] std::string log() const {
    std::size_t size = 0;
    check(nvrtc_, nvrtc_.nvrtcGetProgramLogSize(program_, &size), "nvrtcGetProgramLogSize");
    std::string text(size, '\0');
    check(nvrtc_, nvrtc_.nvrtcGetProgramLog(program_, text.data()), "nvrtcGetProgramLog");
    while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) {
      text.pop_back();
    }
    return text;
  }

 private:
  const NvrtcApi& nvrtc_;
  nvrtcProgram program_ = nullptr;
};

/// NVRTC knows exact architectures by number; a device that is newer than it gets a clear word.
void require_architecture(const NvrtcApi& nvrtc, const std::string& architecture) {
  int count = 0;
  check(nvrtc, nvrtc.nvrtcGetNumSupportedArchs(&count), "nvrtcGetNumSupportedArchs");
  std::vector<int> known(static_cast<std::size_t>(count));
  check(nvrtc, nvrtc.nvrtcGetSupportedArchs(known.data()), "nvrtcGetSupportedArchs");
  std::string list;
  for (const int number : known) {
    const std::string name = "sm_" + std::to_string(number);
    if (name == architecture) {
      return;
    }
    list += " " + name;
  }
  throw CompileError(nvrtc.path + " (NVRTC " + std::to_string(nvrtc.version / 1000) + "." +
                         std::to_string(nvrtc.version % 1000 / 10) + ") does not compile for " +
                         architecture + ", only for" + list,
                     "");
}

/// "kernel.cu(12): error: …", the first line of the log that says error, else the first at all.
std::string first_error(const std::string& log) {
  std::size_t at = log.find("error");
  at = at == std::string::npos ? 0 : at;
  const std::size_t before = log.rfind('\n', at);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  return log.substr(begin, log.find('\n', begin) - begin);
}

/// The options that decide what comes out.
std::vector<std::string> code_options(const NvrtcApi& nvrtc, const CompileOptions& options) {
  constexpr int kKnowsMinimal = 12040;
  std::vector<std::string> arguments = {"--gpu-architecture=" + options.architecture, "--std=c++17",
                                        "--fmad=false", "--no-source-include"};
  if (nvrtc.version >= kKnowsMinimal) {
    arguments.emplace_back("--minimal");
  }
  // No --Ofast-compile=min: it saves a third of the time, for which hardly anybody waits any more,
  // and leaves kernels with strides and along columns a fifth to a third of their bandwidth short.
  return arguments;
}

}  // namespace

KernelKey kernel_key(const NvrtcApi& nvrtc, std::string_view source, const std::string& name,
                     const CompileOptions& options) {
  KernelKey key;
  key.entry = name;
  key.architecture = options.architecture;
  key.compiler = "NVRTC " + std::to_string(nvrtc.version / 1000) + "." +
                 std::to_string(nvrtc.version % 1000 / 10) + " " + nvrtc.build;
  for (const std::string& option : code_options(nvrtc, options)) {
    key.options += option + "\n";
  }
  key.source = source;
  return key;
}

std::string compile_cubin(const NvrtcApi& nvrtc, std::string_view source, const std::string& name,
                          const CompileOptions& options) {
  constexpr int kKnowsCache = 12090;
  require_architecture(nvrtc, options.architecture);
  const std::vector<std::string> deciding = code_options(nvrtc, options);
  std::vector<const char*> arguments;
  for (const std::string& option : deciding) {
    arguments.push_back(option.c_str());
  }
  if (!options.compiler_cache && nvrtc.version >= kKnowsCache) {
    arguments.push_back("--no-cache");
  }

  const Program program(nvrtc, std::string(source), name);
  const nvrtcResult result = nvrtc.nvrtcCompileProgram(
      program.get(), static_cast<int>(arguments.size()), arguments.data());
  if (result == NVRTC_ERROR_COMPILATION) {
    const std::string log = program.log();
    throw CompileError(
        name + " does not compile for " + options.architecture + ": " + first_error(log), log);
  }
  check(nvrtc, result, "nvrtcCompileProgram");

  std::size_t size = 0;
  check(nvrtc, nvrtc.nvrtcGetCUBINSize(program.get(), &size), "nvrtcGetCUBINSize");
  std::string cubin(size, '\0');
  check(nvrtc, nvrtc.nvrtcGetCUBIN(program.get(), cubin.data()), "nvrtcGetCUBIN");
  return cubin;
}

Compiler::Compiler(int driver_version, CompileOptions options)
    : driver_version_(driver_version),
      options_(std::move(options)),
      generation_(process::generation()) {}

Compiler::~Compiler() { settle(); }

void Compiler::settle() noexcept {
  if (warm_up_ == nullptr) {
    return;
  }
  if (generation_ == process::generation()) {
    warm_up_->join();
    warm_up_.reset();
  } else {
    (void)warm_up_.release();  // the thread stayed in the parent
  }
}

void Compiler::prepare() {
  try {
    // Here and not on the thread: exit handlers run in the reverse order of their making, and the
    // runtime's, which waits for the thread, must come before NVRTC's own.
    (void)nvrtc();
  } catch (const Error&) {
    return;  // whoever needs a kernel meets the same error
  }
  Compilation::wait_at_thread_end();
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);  // the thread inherits it: signals are the program's
  try {
    auto compilation = std::make_shared<Compilation>();
    warm_up_ = std::make_unique<std::thread>([this, running = std::move(compilation)]() mutable {
      try {
        if (running->began()) {
          (void)compile_cubin(*nvrtc(), "extern \"C\" __global__ void warm_up() {}", "warm_up",
                              {options_.architecture, false});
        }
      } catch (const std::exception&) {
        // Whoever needs a kernel meets the same error.
      }
      running.reset();
    });
  } catch (const std::exception&) {
    // No thread to be had: the first kernel takes longer then.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

std::string Compiler::compile(std::string_view source, const std::string& name) {
  Compilation::wait_at_thread_end();
  return compile_cubin(*nvrtc(), source, name, options_);
}

KernelKey Compiler::key(std::string_view source, const std::string& name) {
  return kernel_key(*nvrtc(), source, name, options_);
}

std::shared_ptr<const NvrtcApi> Compiler::nvrtc() {
  const std::lock_guard lock(mutex_);
  if (nvrtc_ == nullptr) {
    nvrtc_ = NvrtcApi::open(driver_version_);
  }
  return nvrtc_;
}

}  // namespace forebay::cuda
