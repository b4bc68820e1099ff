#include "compute/replay_list.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "forebay/pool/error.hpp"

namespace forebay::compute {
namespace {

[[noreturn]] void refuse(const char* what) {
  throw CaptureError(std::string("a backend is asked for ") + what +
                     " inside of a capture, which can hold none");
}

// The values of a kernel's parameters, aligned for any type.
class Parameters {
 public:
  Parameters(const CustomKernel& kernel, std::span<void* const> arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const std::size_t bytes = kernel.parameter_bytes[i];
      places_.push_back(values_.size());
      values_.resize(values_.size() + (bytes + sizeof(Unit) - 1) / sizeof(Unit));
      std::memcpy(values_.data() + places_.back(), arguments[i], bytes);
    }
  }
  [[nodiscard]] std::vector<void*> pointers() {
    std::vector<void*> pointers;
    for (const std::size_t place : places_) pointers.push_back(values_.data() + place);
    return pointers;
  }

 private:
  using Unit = std::max_align_t;
  std::vector<Unit> values_;
  std::vector<std::size_t> places_;
};

}  // namespace

void ReplayList::replay(const Stream& stream) {
  for (const Call& call : calls_) call(stream);
}

/// Keeps programs; any executor of the backend that is ready runs them then.
class RecordingBackend::RecordingExecutor final : public Executor {
 public:
  explicit RecordingExecutor(RecordingBackend& owner) : owner_(owner) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "recording"; }
  Readiness run(const Program& program, const Binding& binding, const Stream& /*stream*/) override {
    owner_.calls_.add([&inner = owner_.inner_, copy = std::make_shared<const Program>(program),
                       binding](const Stream& stream) {
      const auto executors = inner.executors();
      const bool done = std::any_of(executors.begin(), executors.end(), [&](const auto& executor) {
        return executor->run(*copy, binding, stream) == Readiness::done;
      });
      if (!done) throw Error("no executor was ready for " + copy->key());
    });
    return Readiness::done;
  }

 private:
  RecordingBackend& owner_;
};

RecordingBackend::RecordingBackend(Backend& inner) : inner_(inner) {
  executors_.push_back(std::make_unique<RecordingExecutor>(*this));
}

void RecordingBackend::matmul(const MatmulArgs& args, const Stream& /*stream*/) {
  calls_.add([&inner = inner_, args](const Stream& stream) { inner.matmul(args, stream); });
}

void RecordingBackend::upload_many(std::span<const Upload> /*uploads*/, const Stream& /*stream*/) {
  refuse("uploads");
}

void RecordingBackend::download(const void* /*source*/, void* /*target*/, std::size_t /*bytes*/,
                                const Stream& /*stream*/) {
  refuse("a download");
}

void RecordingBackend::copy(const void* source, void* target, std::size_t bytes,
                            const Stream& /*stream*/) {
  if (bytes == 0) return;
  calls_.add([&inner = inner_, source, target, bytes](const Stream& stream) {
    inner.copy(source, target, bytes, stream);
  });
}

void RecordingBackend::run(const CustomKernel& kernel, std::span<void* const> arguments,
                           unsigned blocks, const Stream& /*stream*/) {
  if (blocks == 0) return;
  if (kernel.parameter_bytes.size() != arguments.size()) {
    throw CaptureError(std::string("the kernel ") + kernel.name +
                       " does not say how large its parameters are, so no graph can hold it");
  }
  calls_.add([&inner = inner_, &kernel, blocks,
              parameters = std::make_shared<Parameters>(kernel, arguments)](const Stream& stream) {
    inner.run(kernel, parameters->pointers(), blocks, stream);
  });
}

void RecordingBackend::begin_capture(const Stream& /*stream*/) {}

std::unique_ptr<Recording> RecordingBackend::end_capture(const Stream& /*stream*/,
                                                         Recording* earlier) {
  if (earlier != nullptr) {
    dynamic_cast<ReplayList&>(*earlier).swap(calls_);
    return nullptr;
  }
  auto list = std::make_unique<ReplayList>();
  list->swap(calls_);
  return list;
}

void RecordingBackend::abandon_capture(const Stream& /*stream*/) noexcept {}

}  // namespace forebay::compute
