// Every subcommand, each made in a file of its own.
#pragma once

#include <memory>

#include "tools/forebay/command.hpp"

namespace forebay::tools {

[[nodiscard]] std::unique_ptr<Command> make_devices();
[[nodiscard]] std::unique_ptr<Command> make_bench_cold_start();
[[nodiscard]] std::unique_ptr<Command> make_bench_reinit();
[[nodiscard]] std::unique_ptr<Command> make_bench_alloc();
[[nodiscard]] std::unique_ptr<Command> make_bench_compute();
[[nodiscard]] std::unique_ptr<Command> make_replay();
[[nodiscard]] std::unique_ptr<Command> make_stats();
[[nodiscard]] std::unique_ptr<Command> make_leaks();
[[nodiscard]] std::unique_ptr<Command> make_cache_ls();
[[nodiscard]] std::unique_ptr<Command> make_cache_verify();
[[nodiscard]] std::unique_ptr<Command> make_cache_clear();
[[nodiscard]] std::unique_ptr<Command> make_config_check();
[[nodiscard]] std::unique_ptr<Command> make_config_show();
[[nodiscard]] std::unique_ptr<Command> make_config_schema();

}  // namespace forebay::tools
