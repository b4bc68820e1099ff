#include "runtime/cuda/cuda_device.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "forebay/runtime/log.hpp"
#include "runtime/cuda/block_files.hpp"
#include "runtime/cuda/cuda_tools.hpp"
#include "runtime/cuda/cuda_vmm_source.hpp"
#include "runtime/cuda/kernel_cache.hpp"
#include "runtime/cuda/peers.hpp"
#include "runtime/make_pool.hpp"

namespace forebay::cuda {

using driver::CudaApi;

namespace {

/// The source that the configuration wants, or, with a line in the log, the one that the device
/// has.
std::shared_ptr<CudaMallocSource> make_memory(const std::shared_ptr<Context>& context, int index,
                                              pool::PoolConfig& config) {
  const CudaApi& api = context->api();
  const std::vector<CUdevice> peers = find_peers(api, index, config.peers);
  const std::string id = "cuda:" + std::to_string(index);
  const bool wants_mapping =
      config.backing == pool::PoolBacking::vmm && config.mode == pool::PoolMode::pooled;
  if (wants_mapping && !CudaVmmSource::supported(api, context->device())) {
    if (config.export_as != pool::PoolExport::none) {
      throw DeviceError(id + " has no virtual memory management, so its memory cannot be " +
                        "exported; /pool/export must be \"none\"");
    }
    config.backing = pool::PoolBacking::malloc;
    log(LogLevel::warn, id + " has no virtual memory management: its pool is made of regions, as " +
                            "with /pool/backing \"malloc\"");
  } else if (wants_mapping) {
    return std::make_shared<CudaVmmSource>(context,
                                           CudaVmmSource::Options{peers, config.export_as});
  }
  return std::make_shared<CudaMallocSource>(context, peers);
}

/// Whether programs run before they are compiled.
bool interprets([[maybe_unused]] const Config& config) {
#ifdef FOREBAY_HAVE_INTERPRETER
  return config.fusion.tier != FusionTier::compile;
#else
  return false;
#endif
}

}  // namespace

/// A stream of the device; a created one ends with its last handle.
class CudaDevice::StreamState final : public Stream::State {
 public:
  StreamState(std::weak_ptr<Device> of, pool::StreamId stream_id, CUstream stream,
              bool ends_with_handle)
      : ends_with_handle_(ends_with_handle) {
    device = std::move(of);
    id = stream_id;
    native = stream;
  }

  ~StreamState() override {
    if (!ends_with_handle_) {
      return;
    }
    if (const auto alive = lock()) {
      alive->end_stream(id);
    }
  }

  void synchronize() const override {
    const auto alive = lock();
    if (alive == nullptr) {
      throw ClosedError("the device of this stream was closed");
    }
    alive->make_current();
    check(alive->api(), alive->api().cuStreamSynchronize(static_cast<CUstream>(native)),
          "cuStreamSynchronize");
  }

 private:
  [[nodiscard]] std::shared_ptr<CudaDevice> lock() const noexcept {
    return std::static_pointer_cast<CudaDevice>(device.lock());
  }

  bool ends_with_handle_;
};

DeviceInfo describe_device(const CudaApi& api, int index) {
  CUdevice device = 0;
  check(api, api.cuDeviceGet(&device, index), "cuDeviceGet");
  const auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    check(api, api.cuDeviceGetAttribute(&value, which, device), "cuDeviceGetAttribute");
    return value;
  };
  DeviceInfo info;
  info.kind = DeviceKind::cuda;
  info.index = index;
  constexpr int kNameLength = 256;
  char name[kNameLength] = {};
  check(api, api.cuDeviceGetName(name, kNameLength, device), "cuDeviceGetName");
  info.name = name;
  info.architecture = "sm_" +
                      std::to_string(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)) +
                      std::to_string(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  info.multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  check(api, api.cuDeviceTotalMem(&info.total_bytes, device), "cuDeviceTotalMem");
  info.cuinit_s = api.init_seconds;
  return info;
}

std::shared_ptr<CudaDevice> CudaDevice::open(std::shared_ptr<const CudaApi> api, int index,
                                             const Config& config) {
  int count = 0;
  check(*api, api->cuDeviceGetCount(&count), "cuDeviceGetCount");
  if (index < 0 || index >= count) {
    throw DeviceError("there is no device cuda:" + std::to_string(index) + "; this machine has " +
                      (count == 0   ? "no CUDA device"
                       : count == 1 ? "cuda:0"
                                    : "cuda:0 to cuda:" + std::to_string(count - 1)));
  }
  DeviceInfo info = describe_device(*api, index);
  CUdevice device = 0;
  check(*api, api->cuDeviceGet(&device, index), "cuDeviceGet");

  // On its own thread beside the making of the context, which takes longer. Where programs are
  // interpreted at first, nobody waits for it, and a process that finds all on disk needs it late.
  auto compiler = std::make_unique<Compiler>(
      api->version, CompileOptions{info.architecture, config.kernels.compiler_cache});
  if (config.kernels.prepare && !interprets(config)) {
    compiler->prepare();
  }
  const auto start = std::chrono::steady_clock::now();
  auto context = std::make_shared<Context>(api, device);
  if (!context->enter()) {
    throw DeviceError("the context of cuda:" + std::to_string(index) + " cannot be made current");
  }
  info.context_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  std::shared_ptr<CudaDevice> opened(
      new CudaDevice(std::move(info), config, std::move(context), std::move(compiler)));
  opened->default_stream_ = opened->make_stream(false);
  return opened;
}

CudaDevice::CudaDevice(DeviceInfo info, Config config, std::shared_ptr<Context> context,
                       std::unique_ptr<Compiler> compiler)
    : Device(std::move(info), std::move(config)),
      context_(std::move(context)),
      memory_(make_memory(context_, info_.index, config_.pool)),
      pinned_memory_(std::make_shared<CudaPinnedSource>(context_)),
      timeline_(std::make_shared<CudaTimeline>(context_, counters_.events)),
      pinned_timeline_(std::make_shared<CudaTimeline>(context_, counters_.events)),
      kernels_(std::make_shared<KernelCache>(*this, std::move(compiler),
                                             make_disk_cache(config_.kernels.cache))) {
  if (config_.pinned.capacity == 0) {
    constexpr std::size_t kPinnedCapacity = std::size_t{1} << 30;
    config_.pinned.capacity = std::min(kPinnedCapacity, pinned_memory_->traits().total);
  }
  pool_ = make_pool("pool", memory_, timeline_, config_.pool,
                    std::make_shared<CudaTools>(context_, timeline_, false));
  pinned_ = make_pool("pinned", pinned_memory_, pinned_timeline_, config_.pinned,
                      std::make_shared<CudaTools>(context_, pinned_timeline_, true));
  config_.pool = pool_.config();
  config_.pinned = pinned_.config();
}

CudaDevice::~CudaDevice() { close(); }

void CudaDevice::make_current() const {
  if (context_->enter()) {
    return;
  }
  require_open();
  throw DriverError("the context of " + id() + " cannot be made current on this thread",
                    CUDA_ERROR_INVALID_CONTEXT);
}

Stream CudaDevice::create_stream() {
  require_open();
  return make_stream(true);
}

Stream CudaDevice::make_stream(bool ends_with_handle) {
  make_current();
  const CudaApi& driver = api();
  CUstream stream = nullptr;
  check(driver, driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  unsigned long long stream_id = 0;
  if (const CUresult result = driver.cuStreamGetId(stream, &stream_id); result != CUDA_SUCCESS) {
    driver.cuStreamDestroy(stream);
    throw_driver_error(driver, result, "cuStreamGetId");
  }
  {
    const std::lock_guard lock(streams_mutex_);
    streams_.emplace(stream_id, stream);
  }
  timeline_->add(stream_id, stream);
  pinned_timeline_->add(stream_id, stream);
  return Stream(
      std::make_shared<StreamState>(weak_from_this(), stream_id, stream, ends_with_handle));
}

void CudaDevice::end_stream(pool::StreamId id) noexcept {
  if (closed()) {
    return;  // also in a forked child, where nobody would let the lock go
  }
  // The lock is held to the end: the context must not go in between.
  const std::lock_guard lock(streams_mutex_);
  const auto found = streams_.find(id);
  if (found == streams_.end() || !enter()) {
    return;
  }
  if (!pool_.retire_stream(id) || !pinned_.retire_stream(id)) {
    return;  // the pools still need its points: it stays until the device closes
  }
  timeline_->remove(id);
  pinned_timeline_->remove(id);
  api().cuStreamDestroy(found->second);
  streams_.erase(found);
}

ExportedBlock CudaDevice::export_block(const void* pointer) {
  require_open();
  if (config_.pool.export_as == pool::PoolExport::none) {
    throw ConfigError("the memory of " + id() +
                      " was not made for export; set /pool/export to \"fd\"");
  }
  make_current();
  return export_pieces(api(), pool_.pieces(pointer));
}

ImportedBlock CudaDevice::import_block(const ExportedBlock& block) {
  require_open();
  make_current();
  return import_pieces(context_->shared_api(), context_->device(), block);
}

void CudaDevice::synchronize() {
  require_open();
  make_current();
  check(api(), api().cuCtxSynchronize(), "cuCtxSynchronize");
}

std::size_t CudaDevice::free_bytes() const noexcept { return memory_->free_bytes(); }

std::uint64_t CudaDevice::driver_calls() const noexcept { return api().calls(); }

void CudaDevice::shut_down() noexcept {
  kernels_->clear();
  timeline_->close();
  pinned_timeline_->close();
  const std::lock_guard lock(streams_mutex_);
  if (enter()) {
    for (const auto& [id, stream] : streams_) {
      api().cuStreamDestroy(stream);
    }
  }
  streams_.clear();
  memory_->release_peers();
  context_->release();
}

}  // namespace forebay::cuda
