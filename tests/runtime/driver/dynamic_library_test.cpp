#include "runtime/driver/dynamic_library.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "forebay/pool/error.hpp"
#include "tests/runtime/child.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;
using namespace forebay::driver;
namespace fs = std::filesystem;

namespace {

const fs::path kSample12 = FOREBAY_SAMPLE_FOLDER "/12";
const fs::path kSample13 = FOREBAY_SAMPLE_FOLDER "/13";

int major_of(const DynamicLibrary& library) {
  return library ? reinterpret_cast<int (*)()>(library.require("sample_major"))() : 0;
}

/// Each in a child: what a process has opened once stays open.
int major_found_in_child(const std::vector<int>& majors, const std::vector<fs::path>& folders,
                         const fs::path& loaded_before = {}) {
  return test::in_child([&] {
           if (!loaded_before.empty() && !DynamicLibrary::open(loaded_before)) {
             return 1;
           }
           return major_of(DynamicLibrary::search("libforebay_sample", majors, folders));
         })
      .code;
}

/// A folder that goes with the test.
struct LibraryFolder {
  fs::path path = fs::temp_directory_path() / ("forebay_dl_" + std::to_string(getpid()));
  LibraryFolder() { fs::create_directories(path); }
  ~LibraryFolder() { fs::remove_all(path); }
};

}  // namespace

TEST_CASE("the newest library of the supported majors is opened") {
  CHECK(major_found_in_child({13, 12}, {kSample12, kSample13}) == 13);
  CHECK(major_found_in_child({13, 12}, {kSample12}) == 12);
  CHECK(major_found_in_child({12}, {kSample12, kSample13}) == 12);
  CHECK(major_found_in_child({11}, {kSample12, kSample13}) == 0);
}

TEST_CASE("a library that the process has loaded comes first, wherever it lies") {
  const fs::path loaded = kSample12 / "libforebay_sample.so.12";
  CHECK(major_found_in_child({13, 12}, {kSample13}, loaded) == 12);
  CHECK(major_found_in_child({13, 12}, {}, loaded) == 12);
  CHECK(major_found_in_child({13}, {kSample13}, loaded) == 13);
}

TEST_CASE("a library that is not there leaves an error that says where it was looked for") {
  const auto library = DynamicLibrary::search("libforebay_none", {13, 12}, {kSample12});
  CHECK(!library);
  CHECK(library.error() ==
        "none of libforebay_none.so.13 libforebay_none.so.12 in the loader's "
        "path, " +
            kSample12.string());
  CHECK(library.symbol("sample_major") == nullptr);
  const auto named = DynamicLibrary::open("libforebay_none.so");
  CHECK(!named);
  CHECK(named.error().find("libforebay_none.so") != std::string::npos);
}

TEST_CASE("a damaged file is passed over and told") {
  const LibraryFolder folder;
  std::ofstream(folder.path / "libforebay_sample.so.13") << "no library";
  CHECK(major_found_in_child({13, 12}, {folder.path, kSample12}) == 12);
  const auto library = DynamicLibrary::search("libforebay_sample", {13}, {folder.path});
  CHECK(!library);
  CHECK(library.error().find((folder.path / "libforebay_sample.so.13").string() + ": ") !=
        std::string::npos);
}

TEST_CASE("a function that a library lacks is named with the file") {
  const test::Ended ended = test::in_child([] {
    const auto library = DynamicLibrary::open(kSample12 / "libforebay_sample.so.12");
    try {
      (void)library.require("sample_minor");
    } catch (const DriverError& error) {
      const std::string line = error.what();
      return line.find("sample_minor") != std::string::npos &&
                     line.find("libforebay_sample.so.12") != std::string::npos
                 ? 0
                 : 1;
    }
    return 2;
  });
  CHECK(ended.code == 0);
}

TEST_CASE("a driver runs libraries of its major and older ones") {
  CHECK(supported_majors(13000) == std::vector<int>{13, 12});
  CHECK(supported_majors(12080) == std::vector<int>{12});
  CHECK(supported_majors(0).front() >= 12);
}

TEST_CASE("wheels of the active environment and the named toolkit are searched") {
  const LibraryFolder folder;
  const fs::path wheels = folder.path / "lib/python3.12/site-packages/nvidia";
  fs::create_directories(wheels / "cu13/lib");
  fs::create_directories(wheels / "cuda_nvrtc/lib");
  fs::create_directories(folder.path / "lib64");
  const test::Ended ended = test::in_child([&] {
    setenv("VIRTUAL_ENV", folder.path.c_str(), 1);
    setenv("CUDA_HOME", folder.path.c_str(), 1);
    unsetenv("CONDA_PREFIX");
    const auto found = library_folders("cuda_nvrtc");
    const std::vector<fs::path> first = {wheels / "cu13/lib", wheels / "cuda_nvrtc/lib",
                                         folder.path / "lib", folder.path / "lib64"};
    return found.size() >= 4 && std::equal(first.begin(), first.end(), found.begin()) ? 0 : 1;
  });
  CHECK(ended.code == 0);
}
