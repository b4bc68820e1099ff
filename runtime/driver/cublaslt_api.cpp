#include "runtime/driver/cublaslt_api.hpp"

#include "forebay/pool/error.hpp"
#include "runtime/driver/dynamic_library.hpp"

namespace forebay::driver {

std::shared_ptr<const CublasLtApi> CublasLtApi::open(int driver_version) {
  const DynamicLibrary library = DynamicLibrary::search(
      "libcublasLt", supported_majors(driver_version), library_folders("cublas"));
  if (!library) {
    throw DriverError(
        "cuBLASLt, the library for matrix products, was not found: " + library.error(), 0);
  }
  auto api = std::make_shared<CublasLtApi>();
#define FOREBAY_FILL(name) api->name.set(library.require(#name));
  FOREBAY_CUBLASLT_FUNCTIONS(FOREBAY_FILL)
#undef FOREBAY_FILL
  api->path = library.path();
  return api;
}

void check(const CublasLtApi& api, cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw DriverError(std::string(call) + ": " + api.cublasLtGetStatusName(status) + " (" +
                          std::to_string(static_cast<int>(status)) +
                          "): " + api.cublasLtGetStatusString(status),
                      static_cast<int>(status));
  }
}

}  // namespace forebay::driver
