#include "tools/forebay/command_line.hpp"

#include "forebay/pool/error.hpp"
#include "tests/support/catch.hpp"
#include "tests/tools/child.hpp"

using namespace forebay;
using namespace forebay::tools;
using forebay::test::Outcome;
using forebay::test::run_forebay;

namespace {

/// Takes one option of every kind and keeps what it was given.
struct Values {
  bool flag = false;
  std::string text = "before";
  std::string bare;
  std::uint64_t number = 5;
  std::string choice = "a";
  std::string argument;
  int runs = 0;
};
class Probe final : public Command {
 public:
  Probe(const char* path, Values& values) : path_(path), values_(values) {}
  const char* path() const noexcept override { return path_; }
  const char* summary() const noexcept override { return "probes"; }
  const char* example() const noexcept override { return "forebay probe"; }
  void declare(OptionSet& options) override {
    options.flag("flag", values_.flag, "a flag");
    options.text("text", values_.text, "TEXT", "a text");
    options.text_or("bare", values_.bare, "-", "FILE", "a file, or nothing");
    options.number("number", values_.number, {2, 9}, "a number");
    options.choice("choice", values_.choice, {"a", "b"}, "a choice");
    options.argument("FILE", values_.argument, false, "an argument");
  }
  ExitCode run() override {
    ++values_.runs;
    if (values_.text == "usage") throw UsageError("asked wrongly");
    if (values_.text == "config") throw ConfigError("configured wrongly");
    if (values_.text == "work") throw Error("does not work");
    if (values_.text == "memory") throw std::bad_alloc();
    return kDone;
  }

 private:
  const char* path_;
  Values& values_;
};

ExitCode run(Values& values, const std::vector<std::string>& words) {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(std::make_unique<Probe>("one", values));
  commands.push_back(std::make_unique<Probe>("group two", values));
  return run_command_line(commands, words);
}

void check_usage(const std::vector<std::string>& words, const std::vector<std::string>& says) {
  const Outcome outcome = run_forebay(words);
  INFO(outcome.err);
  CHECK(outcome.code == kUsage);
  CHECK(outcome.out.empty());
  CHECK(test::lines(outcome.err) == 1);
  for (const std::string& part : says) CHECK(outcome.err.find(part) != std::string::npos);
}

}  // namespace

TEST_CASE("options reach the variables they were bound to") {
  Values values;
  CHECK(run(values, {"group", "two", "--flag", "--text", "t", "--bare", "--number=9", "--choice",
                     "b", "file"}) == kDone);
  CHECK(values.flag);
  CHECK(values.text == "t");
  CHECK(values.bare == "-");
  CHECK(values.number == 9);
  CHECK(values.choice == "b");
  CHECK(values.argument == "file");
  CHECK(values.runs == 1);
  CHECK(run(values, {"one", "--bare", "name"}) == kDone);
  CHECK(values.bare == "name");
}

TEST_CASE("values keep their defaults when no option says otherwise") {
  Values values;
  CHECK(run(values, {"one"}) == kDone);
  CHECK_FALSE(values.flag);
  CHECK(values.text == "before");
  CHECK(values.bare.empty());
  CHECK(values.number == 5);
  CHECK(values.choice == "a");
}

TEST_CASE("values that are not allowed never reach the command") {
  Values values;
  for (const char* bad : {"1", "10", "-3", "3x", "", "99999999999999999999", "2.5"}) {
    INFO(bad);
    CHECK(run(values, {"one", "--number", bad}) == kUsage);
  }
  CHECK(run(values, {"one", "--choice", "c"}) == kUsage);
  CHECK(run(values, {"one", "--nothing"}) == kUsage);
  CHECK(run(values, {"one", "file", "another"}) == kUsage);
  CHECK(run(values, {"one", "--text"}) == kUsage);
  CHECK(run(values, {"group"}) == kUsage);
  CHECK(run(values, {"two"}) == kUsage);
  CHECK(values.runs == 0);
}

TEST_CASE("an empty value never reaches the command, and is not dropped") {
  Values values;
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--text", ""},
                                             {"--text="},
                                             {"--bare", ""},
                                             {"--bare="},
                                             {"--number", ""},
                                             {"--number="},
                                             {"--choice", ""},
                                             {"--choice="},
                                             {""},
                                             {"--flag", ""},
                                             {"--text", "a", ""}}) {
    INFO(words[0]);
    std::vector<std::string> all = {"one"};
    all.insert(all.end(), words.begin(), words.end());
    CHECK(run(values, all) == kUsage);
  }
  CHECK(values.runs == 0);
  CHECK(run(values, {"one", "--text=a=", "file="}) == kDone);
  CHECK(values.text == "a=");
  check_usage({"replay", "t", "--capacity", ""}, {"--capacity takes SIZE|1.02x, not ''"});
  check_usage({"replay", "t", "--json="}, {"--json takes FILE|-, not ''"});
  check_usage({"bench", "reinit", "--stats", ""}, {"--stats takes FILE|-, not ''"});
  check_usage({"bench", "alloc", "--config", ""}, {"--config takes FILE, not ''"});
  check_usage({"bench", "alloc", "--live", ""}, {"--live takes LIST, not ''"});
  check_usage({"devices", "--json", ""}, {"--json takes FILE|-, not ''"});
  check_usage({"config", "show", ""}, {"an argument is empty"});
}

TEST_CASE("the exit code says whose fault it was") {
  Values values;
  CHECK(run(values, {"one", "--text", "usage"}) == kUsage);
  CHECK(run(values, {"one", "--text", "config"}) == kUsage);
  CHECK(run(values, {"one", "--text", "work"}) == kFailed);
  CHECK(run(values, {"one", "--text", "memory"}) == kFailed);
}

TEST_CASE("words that the command does not know get one line with what there is") {
  check_usage({}, {"devices", "bench", "stats", "config"});
  check_usage({"fly"}, {"'fly'", "devices", "bench"});
  check_usage({"bench"}, {"cold-start", "reinit"});
  check_usage({"bench", "warm-start"}, {"'warm-start'", "cold-start", "reinit"});
  check_usage({"--fast"}, {"no option '--fast'", "--help, --version or a subcommand"});
  check_usage({"bench", "--fast"}, {"no option '--fast'", "--help or a subcommand"});
  check_usage({"devices", "--fast"}, {"--fast", "forebay devices --help"});
  check_usage({"devices", "extra"}, {"extra"});
  check_usage({"stats"}, {"FILE", "forebay stats --help"});
  check_usage({"bench", "cold-start", "--tensors"}, {"--tensors"});
  check_usage({"bench", "cold-start", "--tensors", "-1"}, {"--tensors", "-1", "1 to"});
  check_usage({"bench", "cold-start", "--tensors", "99999999999999999999"}, {"--tensors"});
  check_usage({"bench", "reinit", "--mode", "sideways"}, {"--mode", "flat or climb", "sideways"});
  check_usage({"bench", "reinit", "--networks", "4"}, {"--networks", "1 to 3"});
}

TEST_CASE("help is everywhere, on standard output, and has an example") {
  const std::vector<std::vector<std::string>> leaves = {
      {"devices"},         {"bench", "cold-start"}, {"bench", "reinit"}, {"stats"},
      {"config", "check"}, {"config", "show"},      {"config", "schema"}};
  const Outcome top = run_forebay({"--help"});
  CHECK(top.code == 0);
  for (std::vector<std::string> words : leaves) {
    std::string path;
    for (const std::string& word : words) path += (path.empty() ? "" : " ") + word;
    CHECK(top.out.find("  " + path + " ") != std::string::npos);
    words.emplace_back("--help");
    const Outcome help = run_forebay(words);
    INFO(help.out + help.err);
    CHECK(help.code == 0);
    CHECK(help.err.empty());
    CHECK(help.out.find("Example:\n  forebay " + path) != std::string::npos);
  }
  const Outcome group = run_forebay({"bench", "--help"});
  CHECK(group.code == 0);
  CHECK(group.out.find("bench reinit") != std::string::npos);
  CHECK(group.out.find("config") == std::string::npos);
  // Only a number that may be given is shown as the default.
  const Outcome reinit = run_forebay({"bench", "reinit", "--help"});
  CHECK(reinit.out.find("compare them (0)") == std::string::npos);
  CHECK(reinit.out.find("outer iterations (") != std::string::npos);
  CHECK(run_forebay({"--version"}).out.find("forebay ") == 0);
}
