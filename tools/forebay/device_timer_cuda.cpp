#include "tools/forebay/device_timer_cuda.hpp"

namespace forebay::tools {

using driver::check;

CudaTimer::CudaTimer(Device& device) : device_(dynamic_cast<cuda::CudaDevice&>(device)) {
  device_.make_current();
  const driver::CudaApi& api = device_.api();
  check(api, api.cuEventCreate(&start_, CU_EVENT_DEFAULT), "cuEventCreate");
  if (const CUresult result = api.cuEventCreate(&end_, CU_EVENT_DEFAULT); result != CUDA_SUCCESS) {
    static_cast<void>(api.cuEventDestroy(start_));
    driver::throw_driver_error(api, result, "cuEventCreate");
  }
}

CudaTimer::~CudaTimer() {
  if (!device_.enter()) return;
  static_cast<void>(device_.api().cuEventDestroy(start_));
  static_cast<void>(device_.api().cuEventDestroy(end_));
}

double CudaTimer::seconds(const std::function<void()>& enqueue) {
  const driver::CudaApi& api = device_.api();
  const auto stream = static_cast<CUstream>(device_.default_stream().native());
  device_.make_current();
  check(api, api.cuEventRecord(start_, stream), "cuEventRecord");
  enqueue();
  check(api, api.cuEventRecord(end_, stream), "cuEventRecord");
  check(api, api.cuEventSynchronize(end_), "cuEventSynchronize");
  float milliseconds = 0;
  check(api, api.cuEventElapsedTime(&milliseconds, start_, end_), "cuEventElapsedTime");
  return 1e-3 * static_cast<double>(milliseconds);
}

}  // namespace forebay::tools
