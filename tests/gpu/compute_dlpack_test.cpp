// Tensors as other libraries' arrays on a device, and back.
#include <memory>
#include <vector>

#include "compute/dlpack_abi.hpp"
#include "forebay/compute/dlpack.hpp"
#include "tests/gpu/gpu_compute.hpp"

using namespace forebay;

TEST_CASE("on a GPU a tensor goes out and comes back without a copy") {
  FOREBAY_REQUIRE_DEVICE();
  test::GpuCompute gpu;
  std::vector<float> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const Tensor matrix = from_host<float>(values, {10, 100}, gpu.device);
  DLManagedTensorVersioned* const array = to_dlpack(matrix.transpose());
  CHECK(array->dl_tensor.device.device_type == kDlCuda);
  CHECK(array->dl_tensor.data == matrix.data());
  const Tensor back = from_dlpack(array, gpu.device);
  CHECK(back.shape() == Dims{100, 10});
  CHECK(back.to_host<float>() == matrix.transpose().to_host<float>());
  assign(matrix, matrix * 2.0F);
  CHECK(back.sum().item() == 999'000.0F);
  // Part of it, by another library's strides and offset.
  DLManagedTensor* const row = to_dlpack_unversioned(matrix);
  row->dl_tensor.ndim = 1;
  row->dl_tensor.shape[0] = 50;
  row->dl_tensor.strides[0] = 2;
  row->dl_tensor.byte_offset = 101 * sizeof(float);
  const Tensor odd = from_dlpack(row, gpu.device);
  CHECK(odd.sum().item() == 2 * (101 + 199) * 25.0F);
}
