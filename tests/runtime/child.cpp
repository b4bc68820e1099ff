#include "tests/runtime/child.hpp"

#include <unistd.h>

#include <filesystem>
#include <stdexcept>

namespace forebay::test {

Ended run_end_program(const std::string& scenario) {
  const auto program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "runtime_end";
  return in_child([&]() -> int {
    execl(program.c_str(), program.c_str(), scenario.c_str(), nullptr);
    throw std::runtime_error("cannot run " + program.string());
  });
}

}  // namespace forebay::test
