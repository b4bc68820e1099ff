// A disk quota that runs out: the operating system itself refuses, as on a full disk, wherever in
// the writing of an entry that may come.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "runtime/disk_cache.hpp"
#include "tests/runtime/child.hpp"
#include "tests/runtime/temporary_folder.hpp"

using namespace forebay;
namespace fs = std::filesystem;

namespace {

/// From now on every call of that number in this process answers EDQUOT, if the bits `mask` of its
/// argument number `argument` are not all 0. False where filters cannot be had.
bool run_out_of_quota(std::uint32_t call, std::uint32_t argument, std::uint32_t mask) {
  const auto load = [](std::size_t offset) {
    return sock_filter{BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<std::uint32_t>(offset)};
  };
  std::array<sock_filter, 6> filter{
      load(offsetof(seccomp_data, nr)),
      sock_filter{BPF_JMP | BPF_JEQ | BPF_K, 0, 3, call},
      load(offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t)),
      sock_filter{BPF_JMP | BPF_JSET | BPF_K, 0, 1, mask},
      sock_filter{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EDQUOT},
      sock_filter{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  };
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace

TEST_CASE("a quota that runs out ends the writing with one line, and what is there stays right") {
  constexpr int kNoFilter = 77;
  constexpr std::uint32_t kAnyFile = ~std::uint32_t{3};  // beyond the standard ones
  constexpr std::uint32_t kMuch = 0xffff0000U;           // of what `large` alone has so many bytes
  struct Refused {
    const char* when;
    std::uint32_t call, argument, mask;
  };
  for (const Refused& refused : {Refused{"a file is made", SYS_openat, 2, O_CREAT},
                                 Refused{"much is written", SYS_write, 2, kMuch},
                                 Refused{"it is closed", SYS_close, 0, kAnyFile}}) {
    INFO("refused when " << refused.when);
    const test::TemporaryFolder top;
    const fs::path path = top.path() / "cache";
    const test::Ended ended = test::in_child([&] {
      // So that no file of the cache's is number 3.
      if (::open("/dev/null", O_RDONLY | O_CLOEXEC) < 0) return 2;
      std::vector<std::string> warnings;
      DiskCache cache({path, std::uint64_t{1} << 30, 1000,
                       [&](std::string_view line) { warnings.emplace_back(line); }});
      if (!cache.store("kept", "content").written) return 1;
      if (!run_out_of_quota(refused.call, refused.argument, refused.mask)) return kNoFilter;
      const std::string large(100'000, 'x');
      if (cache.store("refused", large).written || warnings.size() != 1) return 3;
      if (warnings[0].find(std::strerror(EDQUOT)) == std::string::npos) return 4;
      // Not even what would fit: nobody tries again and again.
      if (cache.store("later", "content").written || warnings.size() != 1) return 5;
      if (cache.load("refused").content || cache.load("kept").content != "content") return 6;
      return 0;
    });
    if (ended.code == kNoFilter) {
      std::printf("SKIPPED: system calls cannot be filtered here\n");
      return;
    }
    INFO(ended.err);
    CHECK(ended.code == 0);
    CHECK(std::distance(fs::directory_iterator(path), {}) == 1);
  }
}
