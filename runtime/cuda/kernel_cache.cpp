#include "runtime/cuda/kernel_cache.hpp"

#include <atomic>
#include <chrono>

#include "forebay/pool/error.hpp"
#include "forebay/runtime/log.hpp"
#include "runtime/cuda/cuda_device.hpp"
#include "runtime/kernel_key.hpp"
#include "runtime/process.hpp"

namespace forebay::cuda {

namespace {

/// How long the end of a device waits for a compilation under way. Most take less, and what takes
/// longer ends by itself.
constexpr std::chrono::milliseconds kCloseWait{1000};

/// Whether the driver refuses what it was given, as against not being able to load anything now.
bool speaks_against_image(int code) {
  return code == CUDA_ERROR_INVALID_IMAGE || code == CUDA_ERROR_NO_BINARY_FOR_GPU ||
         code == CUDA_ERROR_INVALID_SOURCE || code == CUDA_ERROR_INVALID_VALUE ||
         code == CUDA_ERROR_UNSUPPORTED_PTX_VERSION || code == CUDA_ERROR_INVALID_PTX ||
         code == CUDA_ERROR_NOT_FOUND || code == CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND ||
         code == CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
}

}  // namespace

std::unique_ptr<DiskCache> make_disk_cache(const KernelCacheConfig& config) {
  if (!config.enabled) {
    return nullptr;
  }
  const auto warn = [](std::string_view why) {
    static constinit std::atomic<bool> warned{false};
    log(warned.exchange(true) ? LogLevel::info : LogLevel::warn,
        "kernels are not kept on disk: " + std::string(why) +
            "; /kernels/cache/folder places them, /kernels/cache/enabled false ends this line");
  };
  return std::make_unique<DiskCache>(
      DiskCache::Options{config.folder, config.max_bytes, config.max_entries, warn});
}

KernelCache::KernelCache(CudaDevice& device, std::unique_ptr<Compiler> compiler,
                         std::unique_ptr<DiskCache> disk)
    : generation_(process::generation()),
      device_(device),
      compiler_(std::move(compiler)),
      disk_(std::move(disk)),
      queue_({device.config().kernels.compile_threads, device.config().kernels.queue},
             device.counters().kernels) {}

KernelCache::~KernelCache() { clear(); }

CUfunction KernelCache::get(std::string_view source, const std::string& entry) {
  return find(source, entry, Caller::waiting);
}

std::shared_ptr<BackgroundKernel> KernelCache::background(std::function<std::string()> source,
                                                          std::string entry) {
  auto kernel = std::make_shared<BackgroundKernel>(
      [cache = weak_from_this(), source = std::move(source), entry = std::move(entry)] {
        const std::shared_ptr<KernelCache> self = cache.lock();
        if (self == nullptr) throw ClosedError("the device of a kernel was closed");
        return self->find(source(), entry, Caller::queue);
      });
  queue_.know(kernel);
  return kernel;
}

CUfunction KernelCache::find(std::string_view source, const std::string& entry, Caller caller) {
  make_current();
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
  std::unique_lock lock(kernel->mutex);
  if (kernel->failure != nullptr) {
    std::rethrow_exception(kernel->failure);
  }
  if (kernel->function != nullptr) {
    count(&KernelCounters::memory_hits);
    return kernel->function;
  }
  const std::string material =
      disk_ == nullptr ? std::string() : material_of(compiler_->key(source, entry));
  if (disk_ == nullptr) {
    compile(*kernel, source, entry, caller);
  } else if (!load_from_disk(*kernel, material, entry)) {
    // Only what the driver took is worth keeping.
    const std::string cubin = compile(*kernel, source, entry, caller);
    lock.unlock();  // whoever waits for the kernel need not wait for the disk
    const DiskCache::Stored stored = disk_->store(material, cubin);
    count(&KernelCounters::disk_written, stored.written ? 1 : 0);
    count(&KernelCounters::disk_evicted, stored.evicted);
  }
  return kernel->function;  // set once; only `clear` ends it
}

bool KernelCache::load_from_disk(Entry& kernel, const std::string& material,
                                 const std::string& entry) {
  const DiskCache::Found found = disk_->load(material);
  count(&KernelCounters::disk_doubtful, found.doubtful ? 1 : 0);
  if (!found.content) {
    return false;
  }
  try {
    load(kernel, *found.content, entry);
  } catch (const DriverError& error) {
    if (!speaks_against_image(error.code())) {
      throw;
    }
    // Every bit is what somebody wrote, and yet the driver does not take it.
    disk_->reject(material);
    count(&KernelCounters::disk_doubtful);
    return false;
  }
  count(&KernelCounters::disk_hits);
  return true;
}

void KernelCache::clear() noexcept {
  if (generation_ != process::generation()) return;  // locks and threads stayed in the parent
  {
    const std::lock_guard gate(gate_);
    if (closed_) return;
  }
  queue_.stop(kCloseWait);
  compiler_->settle();
  const std::lock_guard gate(gate_);
  closed_ = true;
  const std::lock_guard lock(mutex_);
  const bool alive = device_.enter();
  for (const auto& [key, kernel] : entries_) {
    if (alive && kernel->module != nullptr) {
      device_.api().cuModuleUnload(kernel->module);
    }
  }
  entries_.clear();
  device_.counters().kernels.loaded.store(0, std::memory_order_relaxed);
}

std::string KernelCache::compile(Entry& kernel, std::string_view source, const std::string& entry,
                                 Caller caller) {
  const auto start = std::chrono::steady_clock::now();
  std::string cubin;
  try {
    cubin = compiler_->compile(source, entry);
    load(kernel, cubin, entry);
  } catch (const CompileError&) {
    kernel.failure = std::current_exception();
    count(&KernelCounters::failed);
    throw;
  }
  const auto spent = std::chrono::steady_clock::now() - start;
  const auto us = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(spent).count());
  count(&KernelCounters::compiled);
  count(&KernelCounters::compile_us, us);
  if (caller == Caller::waiting) count(&KernelCounters::compile_wait_us, us);
  return cubin;
}

void KernelCache::load(Entry& kernel, const std::string& cubin, const std::string& entry) {
  const std::lock_guard gate(gate_);
  if (closed_) throw ClosedError("the device of kernel " + entry + " was closed");
  device_.make_current();
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
  device_.counters().kernels.loaded.fetch_add(1, std::memory_order_relaxed);
}

void KernelCache::make_current() {
  const std::lock_guard gate(gate_);
  if (closed_) throw ClosedError("the device of a kernel was closed");
  device_.make_current();
}

void KernelCache::count(Counter KernelCounters::*counter, std::uint64_t more) {
  const std::lock_guard gate(gate_);
  if (!closed_) (device_.counters().kernels.*counter).fetch_add(more, std::memory_order_relaxed);
}

}  // namespace forebay::cuda
