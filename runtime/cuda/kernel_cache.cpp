#include "runtime/cuda/kernel_cache.hpp"

#include <chrono>

#include "forebay/pool/error.hpp"
#include "runtime/cuda/cuda_device.hpp"

namespace forebay::cuda {

KernelCache::~KernelCache() { clear(); }

CUfunction KernelCache::get(std::string_view source, const std::string& entry) {
  device_.make_current();
  std::string key = entry;
  key += '\0';
  key += source;
  std::shared_ptr<Entry> kernel;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Entry>& slot = entries_[std::move(key)];
    if (slot == nullptr) {
      slot = std::make_shared<Entry>();
    }
    kernel = slot;
  }
  const std::lock_guard lock(kernel->mutex);
  if (kernel->failure != nullptr) {
    std::rethrow_exception(kernel->failure);
  }
  if (kernel->function != nullptr) {
    device_.counters().kernels.memory_hits.fetch_add(1, std::memory_order_relaxed);
    return kernel->function;
  }
  compile(*kernel, source, entry);
  return kernel->function;
}

void KernelCache::clear() noexcept {
  const std::lock_guard lock(mutex_);
  compiler_->settle();
  const bool alive = device_.enter();
  for (const auto& [key, kernel] : entries_) {
    if (alive && kernel->module != nullptr) {
      device_.api().cuModuleUnload(kernel->module);
    }
  }
  entries_.clear();
}

void KernelCache::compile(Entry& kernel, std::string_view source, const std::string& entry) {
  KernelCounters& counters = device_.counters().kernels;
  const auto start = std::chrono::steady_clock::now();
  try {
    const std::string cubin = compiler_->compile(source, entry);
    load(kernel, cubin, entry);
  } catch (const CompileError&) {
    kernel.failure = std::current_exception();
    counters.failed.fetch_add(1, std::memory_order_relaxed);
    throw;
  }
  const auto spent = std::chrono::steady_clock::now() - start;
  counters.compiled.fetch_add(1, std::memory_order_relaxed);
  counters.compile_us.fetch_add(
      static_cast<std::uint64_t>(
          std::chrono::duration_cast<std::chrono::microseconds>(spent).count()),
      std::memory_order_relaxed);
}

void KernelCache::load(Entry& kernel, const std::string& cubin, const std::string& entry) const {
  const driver::CudaApi& api = device_.api();
  const RelaxedCapture relaxed(api);
  CUmodule module = nullptr;
  check(api, api.cuModuleLoadData(&module, cubin.data()), "cuModuleLoadData");
  CUfunction function = nullptr;
  const char* call = "cuModuleGetFunction";
  CUresult result = api.cuModuleGetFunction(&function, module, entry.c_str());
  if (result == CUDA_SUCCESS) {
    // Modules load lazily: without this, the first launch would.
    call = "cuFuncLoad";
    result = api.cuFuncLoad(function);
  }
  if (result != CUDA_SUCCESS) {
    api.cuModuleUnload(module);
    throw_driver_error(api, result, call);
  }
  kernel.module = module;
  kernel.function = function;
}

}  // namespace forebay::cuda
