// The command `forebay`.
#include <csignal>
#include <string>
#include <vector>

#include "tools/forebay/clock.hpp"
#include "tools/forebay/command_line.hpp"
#include "tools/forebay/commands.hpp"
#include "tools/forebay/output.hpp"

int main(int argc, char** argv) {
  using namespace forebay::tools;
  mark_process_start();
  // A write beyond a limit of file sizes fails as any other does.
  std::signal(SIGXFSZ, SIG_IGN);
  fill_standard_descriptors();
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(make_devices());
  commands.push_back(make_bench_cold_start());
  commands.push_back(make_bench_reinit());
  commands.push_back(make_bench_alloc());
  commands.push_back(make_bench_compute());
  commands.push_back(make_replay());
  commands.push_back(make_stats());
  commands.push_back(make_leaks());
  commands.push_back(make_cache_ls());
  commands.push_back(make_cache_verify());
  commands.push_back(make_cache_clear());
  commands.push_back(make_config_check());
  commands.push_back(make_config_show());
  commands.push_back(make_config_schema());
  return run_command_line(commands, std::vector<std::string>(argv + 1, argv + argc));
}
