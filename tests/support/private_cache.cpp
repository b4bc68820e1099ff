// A part of every test program: no test, nor a program that it starts, sees or fills the cache of
// the user who runs it. The folder is made by whoever uses it first, and goes with this process.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace {

class PrivateCache {
 public:
  PrivateCache() { ::setenv("XDG_CACHE_HOME", path_.c_str(), 1); }
  ~PrivateCache() {
    if (::getpid() != owner_) return;  // a forked child that ended by exit
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  PrivateCache(const PrivateCache&) = delete;
  PrivateCache& operator=(const PrivateCache&) = delete;

 private:
  const pid_t owner_ = ::getpid();
  const std::string path_ = "/tmp/forebay-test-cache-" + std::to_string(owner_);
};

const PrivateCache private_cache;

}  // namespace
