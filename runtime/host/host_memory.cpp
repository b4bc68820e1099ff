#include "runtime/host/host_memory.hpp"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>

namespace forebay::host {

namespace {

constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

/// The number in a file of one line, or `otherwise` ("max" is no number).
std::size_t read_number(const std::string& file, std::size_t otherwise) {
  std::ifstream stream(file);
  std::uint64_t number = 0;
  return stream >> number ? static_cast<std::size_t>(number) : otherwise;
}

/// The rest of the line of `file` that starts with `label`, without spaces and colon in front.
std::string read_field(const char* file, const std::string& label) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (line.compare(0, label.size(), label) != 0) continue;
    const auto start = line.find_first_not_of(" \t:", label.size());
    return start == std::string::npos ? "" : line.substr(start);
  }
  return {};
}

/// Folders of the memory controller that may limit this process: its own group's, as the process
/// sees it, and the root's, which is the container's in a container. Versions 2 and 1.
struct Limit {
  const char* limit;
  const char* usage;
};
constexpr Limit kVersion2{"memory.max", "memory.current"};
constexpr Limit kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes"};

template <typename Visit>
void each_group(Visit&& visit) {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const bool version2 = line.compare(0, 3, "0::") == 0;
    const auto memory = line.find(":memory:");
    if (!version2 && memory == std::string::npos) continue;
    const std::string root = version2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    const Limit files = version2 ? kVersion2 : kVersion1;
    std::string path = line.substr(version2 ? 3 : memory + 8);
    // A limit of any group above counts too.
    for (; !path.empty(); path.resize(path.rfind('/'))) visit(root + path + "/", files);
    visit(root + "/", files);
  }
}

}  // namespace

std::size_t total_memory() noexcept {
  std::size_t total = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  try {
    each_group([&](const std::string& folder, const Limit& files) {
      total = std::min(total, read_number(folder + files.limit, kUnlimited));
    });
  } catch (...) {
    // Without the groups' limits the machine's memory stands.
  }
  return total;
}

std::size_t available_memory() noexcept {
  std::size_t available = 0;
  try {
    const std::string text = read_field("/proc/meminfo", "MemAvailable");
    available = text.empty() ? static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES)) *
                                   static_cast<std::size_t>(sysconf(_SC_PAGESIZE))
                             : std::stoull(text) * 1024;
    each_group([&](const std::string& folder, const Limit& files) {
      const std::size_t limit = read_number(folder + files.limit, kUnlimited);
      if (limit == kUnlimited) return;
      const std::size_t used = read_number(folder + files.usage, 0);
      available = std::min(available, limit - std::min(limit, used));
    });
  } catch (...) {
    // What was found so far stands.
  }
  return available;
}

std::string architecture() {
  utsname names{};
  if (uname(&names) != 0) return "unknown";
  const std::string machine = names.machine;
  return machine == "x86_64" ? "x86-64" : machine;
}

std::string processor_name() {
  const std::string model = read_field("/proc/cpuinfo", "model name");
  return model.empty() ? architecture() : model;
}

int cores() noexcept {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
}

}  // namespace forebay::host
