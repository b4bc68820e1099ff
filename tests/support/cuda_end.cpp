#include "tests/support/cuda_end.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace forebay::test {

std::pair<int, std::string> run_cuda_end(const std::string& scenario,
                                         const std::string& environment) {
  namespace fs = std::filesystem;
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path() / "cuda_end";
  const fs::path errors =
      fs::temp_directory_path() / ("forebay_cuda_end_" + std::to_string(getpid()));
  const std::string command =
      environment + " '" + program.string() + "' " + scenario + " 2> '" + errors.string() + "'";
  const int status = std::system(command.c_str());
  std::stringstream text;
  text << std::ifstream(errors).rdbuf();
  fs::remove(errors);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), text.str()};
}

}  // namespace forebay::test
