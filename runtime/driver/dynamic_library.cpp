#include "runtime/driver/dynamic_library.hpp"

#include <cuda.h>
#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>

#include "forebay/pool/error.hpp"

namespace forebay::driver {
namespace {

namespace fs = std::filesystem;

/// Folders below `parent` whose name starts with `prefix`, in descending order of name.
std::vector<fs::path> folders_starting_with(const fs::path& parent, std::string_view prefix) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (fs::directory_iterator at(parent, ignored), end; at != end; at.increment(ignored)) {
    if (at->path().filename().string().starts_with(prefix)) {
      found.push_back(at->path());
    }
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

}  // namespace

bool DynamicLibrary::try_open(const std::string& name, int extra_flags) {
  handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE | extra_flags);
  if (handle_ == nullptr) {
    const char* reason = dlerror();
    error_ = reason != nullptr ? reason : name + ": cannot be opened";
    return false;
  }
  error_.clear();
  path_ = name;
  const link_map* map = nullptr;
  if (dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0] != '\0') {
    path_ = map->l_name;
  }
  return true;
}

DynamicLibrary DynamicLibrary::open(const std::string& name) {
  DynamicLibrary library;
  library.try_open(name, 0);
  return library;
}

DynamicLibrary DynamicLibrary::search(std::string_view stem, const std::vector<int>& majors,
                                      const std::vector<fs::path>& folders) {
  std::vector<std::string> names;
  for (const int major : majors) {
    names.push_back(std::string(stem) + ".so." + std::to_string(major));
  }
  DynamicLibrary library;
  for (const std::string& name : names) {
    if (library.try_open(name, RTLD_NOLOAD)) {
      return library;
    }
  }
  // A file that is there but does not open says more than a name that nobody knows.
  std::string broken;
  for (const std::string& name : names) {
    if (library.try_open(name, 0)) {
      return library;
    }
    for (const fs::path& folder : folders) {
      std::error_code ignored;
      if (fs::exists(folder / name, ignored)) {
        if (library.try_open(folder / name, 0)) {
          return library;
        }
        broken += "; " + library.error_;
      }
    }
  }
  library.error_ = "none of";
  for (const std::string& name : names) {
    library.error_ += " " + name;
  }
  library.error_ += " in the loader's path";
  for (const fs::path& folder : folders) {
    library.error_ += ", " + folder.string();
  }
  library.error_ += broken;
  return library;
}

void* DynamicLibrary::symbol(const char* name) const noexcept {
  return handle_ != nullptr ? dlsym(handle_, name) : nullptr;
}

void* DynamicLibrary::require(const char* name) const {
  void* address = symbol(name);
  if (address == nullptr) {
    throw DriverError(path_ + " has no function " + name + ": it is too old or damaged", 0);
  }
  return address;
}

std::vector<int> supported_majors(int driver_version) {
  constexpr int kOldest = 12;
  const int newest = (driver_version > 0 ? driver_version : CUDA_VERSION) / 1000;
  std::vector<int> majors;
  for (int major = newest; major >= kOldest; --major) {
    majors.push_back(major);
  }
  return majors;
}

std::vector<fs::path> library_folders(std::string_view component) {
  std::vector<fs::path> wanted;
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const char* root = std::getenv(variable);
    if (root == nullptr) {
      continue;
    }
    for (const fs::path& python : folders_starting_with(fs::path(root) / "lib", "python3")) {
      const fs::path wheels = python / "site-packages" / "nvidia";
      for (const fs::path& bundle : folders_starting_with(wheels, "cu1")) {
        wanted.push_back(bundle / "lib");
      }
      wanted.push_back(wheels / component / "lib");
    }
    wanted.push_back(fs::path(root) / "lib");
  }
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* root = std::getenv(variable); root != nullptr) {
      wanted.push_back(fs::path(root) / "lib64");
    }
  }
  wanted.emplace_back("/usr/local/cuda/lib64");
  for (const fs::path& toolkit : folders_starting_with("/usr/local", "cuda-")) {
    wanted.push_back(toolkit / "lib64");
  }
  wanted.emplace_back("/opt/cuda/lib64");

  std::vector<fs::path> found;
  for (const fs::path& folder : wanted) {
    std::error_code ignored;
    if (fs::is_directory(folder, ignored) &&
        std::find(found.begin(), found.end(), folder) == found.end()) {
      found.push_back(folder);
    }
  }
  return found;
}

}  // namespace forebay::driver
