#include "runtime/driver/cublaslt_api.hpp"

#include "forebay/pool/error.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using driver::CublasLtApi;

TEST_CASE("cuBLASLt opens without a driver, and its errors carry the call and its text") {
  const auto library = CublasLtApi::open(0);
  CHECK(library->path.find("libcublasLt.so") != std::string::npos);
  CHECK(library->cublasLtGetVersion() >= 120000);
  CHECK_NOTHROW(check(*library, CUBLAS_STATUS_SUCCESS, "cublasLtMatmul"));
  try {
    check(*library, CUBLAS_STATUS_NOT_SUPPORTED, "cublasLtMatmul");
    FAIL("an error was let through");
  } catch (const DriverError& error) {
    CHECK(std::string(error.what()).find("cublasLtMatmul: CUBLAS_STATUS_NOT_SUPPORTED (15): ") ==
          0);
    CHECK(error.code() == CUBLAS_STATUS_NOT_SUPPORTED);
  }
}

TEST_CASE("a cuBLASLt that a driver cannot run is not opened") {
  CHECK_THROWS_AS(CublasLtApi::open(11080), DriverError);
}
