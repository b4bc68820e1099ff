// forebay config check|show|schema
#include <cstdio>
#include <string>
#include <vector>

#include "forebay/pool/error.hpp"
#include "forebay/runtime/config.hpp"
#include "tools/forebay/bench_run.hpp"
#include "tools/forebay/command_line.hpp"
#include "tools/forebay/commands.hpp"

namespace forebay::tools {
namespace {

void print(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  OutputFile("-").write(text + "\n");
}

class ConfigCheck final : public Command {
 public:
  const char* path() const noexcept override { return "config check"; }
  const char* summary() const noexcept override { return "says whether a configuration is right"; }
  const char* example() const noexcept override {
    return "forebay config check my.json   ('my.json is right', or a line for each mistake)";
  }
  void declare(OptionSet& options) override {
    options.argument("FILE", file_, true, "the configuration");
  }
  ExitCode run() override {
    std::vector<std::string> mistakes = Config::mistakes(file_);
    if (!mistakes.empty()) {
      const std::string last = mistakes.back();
      mistakes.pop_back();
      for (const std::string& mistake : mistakes) print_error(mistake);
      throw Error(last);  // it was asked well; the answer is no
    }
    print(file_ + " is right");
    return kDone;
  }

 private:
  std::string file_;
};

class ConfigShow final : public Command {
 public:
  const char* path() const noexcept override { return "config show"; }
  const char* summary() const noexcept override { return "prints the effective configuration"; }
  const char* example() const noexcept override {
    return "forebay config show my.json   (every key, with the file's value or the default)";
  }
  void declare(OptionSet& options) override {
    options.argument("FILE", file_, false, "the configuration; the default one without it");
  }
  ExitCode run() override {
    print(load_config(file_).to_json());
    return kDone;
  }

 private:
  std::string file_;
};

class ConfigSchema final : public Command {
 public:
  const char* path() const noexcept override { return "config schema"; }
  const char* summary() const noexcept override {
    return "prints the JSON schema of configurations";
  }
  const char* example() const noexcept override {
    return "forebay config schema > forebay.schema.json   (for an editor that checks while typing)";
  }
  void declare(OptionSet&) override {}
  ExitCode run() override {
    print(Config::schema());
    return kDone;
  }
};

}  // namespace

std::unique_ptr<Command> make_config_check() { return std::make_unique<ConfigCheck>(); }
std::unique_ptr<Command> make_config_show() { return std::make_unique<ConfigShow>(); }
std::unique_ptr<Command> make_config_schema() { return std::make_unique<ConfigSchema>(); }

}  // namespace forebay::tools
