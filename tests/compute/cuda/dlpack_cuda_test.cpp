// Arrays of other libraries on a CUDA device: whose they are, and when they go back.
#include "compute/dlpack_abi.hpp"
#include "forebay/compute/dlpack.hpp"
#include "forebay/pool/error.hpp"
#include "tests/compute/cuda/fake_cuda.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::test;

TEST_CASE("an array of a device is exported as that device's, and imported by no other") {
  FakeCuda cuda;
  const std::vector<float> values{1, 2, 3};
  const Tensor tensor = from_host<float>(values, {3}, *cuda.device);
  DLManagedTensorVersioned* const array = to_dlpack(tensor);
  CHECK(array->dl_tensor.device.device_type == kDlCuda);
  CHECK(array->dl_tensor.device.device_id == 0);
  array->dl_tensor.device.device_id = 1;
  CHECK_THROWS_AS(from_dlpack(array, *cuda.device), ShapeError);
  array->dl_tensor.device = {kDlCpu, 0};
  CHECK_THROWS_AS(from_dlpack(array, *cuda.device), ShapeError);
  array->dl_tensor.device = {kDlCudaManaged, 0};
  CHECK(from_dlpack(array, *cuda.device).to_host<float>() == values);
}

TEST_CASE("an imported array goes back once the device is done with it") {
  FakeCuda cuda;
  const auto queue = static_cast<CUstream>(cuda.stream.native());
  const Tensor source = from_host<float>(std::vector<float>{1, 2, 3}, {3}, *cuda.device);
  const Tensor target = from_host<float>(std::vector<float>{0, 0, 0}, {3}, *cuda.device);
  auto* const memory = static_cast<float*>(target.data());
  DLManagedTensor* const array = to_dlpack_unversioned(source);
  static float at_the_end = 0;
  static float* watched = nullptr;
  static void (*real)(DLManagedTensor*) = nullptr;
  watched = memory;
  real = array->deleter;
  array->deleter = [](DLManagedTensor* self) {
    at_the_end = *watched;
    real(self);
  };
  {
    const Tensor imported = from_dlpack(array, *cuda.device);
    cuda.driver.hold(queue);
    assign(target, imported);
    CHECK(*memory == 0);
  }
  CHECK(at_the_end == 1);  // the copy was waited for
}
