// The fake driver as a libcuda.so.1, for programs that open one. Like the driver, it ends when the
// process runs its exit handlers; a call after that is told on standard error.
#include <map>
#include <string>

#include "tests/support/fake_driver_state.hpp"

namespace {

using forebay::test::FakeCalls;

/// Made when the library is first asked for something, gone with the exit handlers.
forebay::test::FakeDriver& driver() {
  static forebay::test::FakeDriver the_driver;
  return the_driver;
}

}  // namespace

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

FAKE_EXPORT CUresult cuDriverGetVersion(int* version) {
  return driver().api()->cuDriverGetVersion(version);
}

FAKE_EXPORT CUresult cuGetProcAddress_v2(const char* name, void** address, int, cuuint64_t,
                                         CUdriverProcAddressQueryResult* found) {
  static const std::map<std::string, void*> functions = {
#define FOREBAY_ADDRESS(function, version) \
  {#function, reinterpret_cast<void*>(&FakeCalls::function)},
      FOREBAY_CUDA_FUNCTIONS(FOREBAY_ADDRESS)
#undef FOREBAY_ADDRESS
  };
  const auto entry = functions.find(name);
  *address = entry != functions.end() ? entry->second : nullptr;
  *found =
      entry != functions.end() ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return CUDA_SUCCESS;
}
