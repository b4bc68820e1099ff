#include "tools/forebay/cold_start.hpp"

#include <fstream>
#include <limits>
#include <span>
#include <string>

#include "tools/forebay/clock.hpp"
#include "tools/forebay/command.hpp"

namespace forebay::tools {
namespace {

using Buffer = std::vector<std::int32_t>;

/// Bytes of host memory that can still be had; all of them where nobody says.
std::uint64_t available_bytes() {
  std::ifstream meminfo("/proc/meminfo");
  std::string key;
  for (std::uint64_t kib = 0; meminfo >> key >> kib;) {
    if (key == "MemAvailable:") return kib << 10;
    meminfo.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::numeric_limits<std::uint64_t>::max();
}

std::vector<Tensor> upload(const ColdStart& work, const std::vector<Buffer>& sources,
                           Device& device) {
  if (work.clone) {
    std::vector<Tensor> tensors;
    tensors.reserve(sources.size());
    for (const Buffer& source : sources) {
      const Buffer copy = source;
      tensors.push_back(
          from_host(std::span<const std::int32_t>(copy), work.shape, device, DType::f32));
    }
    return tensors;
  }
  const std::vector<std::span<const std::int32_t>> views(sources.begin(), sources.end());
  return from_host_many(std::span(views), work.shape, device, DType::f32);
}

Tensor through_host(const Tensor& tensor, Device& device) {
  const std::vector<float> values = tensor.to_host<float>();
  return from_host(std::span(values), tensor.shape(), device);
}

}  // namespace

std::vector<std::vector<std::int32_t>> make_sources(const ColdStart& work) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  const auto elements = static_cast<std::uint64_t>(checked_numel(work.shape));
  const std::uint64_t each = elements * sizeof(std::int32_t);
  const std::string what = std::to_string(work.tensors) + " tensors of " + to_string(work.shape);
  if (each > kMost / work.tensors) {
    throw UsageError(what + " are more bytes than can be counted; ask for fewer or smaller ones");
  }
  if (each * work.tensors > available_bytes()) {
    throw Error(what + " need " + std::to_string(each * work.tensors) +
                " bytes of host memory, and " + std::to_string(available_bytes()) +
                " are left; ask for fewer or smaller ones");
  }
  std::vector<Buffer> sources(work.tensors);
  for (Buffer& source : sources) source.assign(elements, 0);
  return sources;
}

void run_cold_start(const ColdStart& work, const std::vector<Buffer>& sources, Device& device,
                    const ColdStartReport& report) {
  const Counter& waited_us = device.counters().kernels.compile_wait_us;
  for (std::uint64_t i = 0; i < work.loops; ++i) {
    ColdStartPass pass;
    const std::uint64_t waited_before = waited_us.load(std::memory_order_relaxed);
    const double start = now_s();
    std::vector<Tensor> tensors = upload(work, sources, device);
    device.default_stream().synchronize();
    const double uploaded = now_s();
    for (Tensor& t : tensors) t = std::move(t) + 1.0F;
    if (work.through_host) {
      for (Tensor& t : tensors) t = through_host(t, device);
    }
    for (const Tensor& t : tensors) pass.sum += t.sum().item();
    const double end = now_s();
    pass.elapsed_s = end - start;
    pass.upload_s = uploaded - start;
    pass.add_sum_s = end - uploaded;
    pass.compile_wait_s =
        1e-6 * static_cast<double>(waited_us.load(std::memory_order_relaxed) - waited_before);
    report(i, pass);
  }
}

}  // namespace forebay::tools
