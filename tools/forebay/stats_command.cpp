// forebay stats FILE
#include <fstream>
#include <iterator>

#include "forebay/pool/error.hpp"
#include "tools/forebay/commands.hpp"
#include "tools/forebay/output.hpp"
#include "tools/forebay/stats_table.hpp"

namespace forebay::tools {
namespace {

std::string content(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in) throw Error("cannot read '" + file + "'; name a file that --stats has written");
  return text;
}

class Stats final : public Command {
 public:
  const char* path() const noexcept override { return "stats"; }
  const char* summary() const noexcept override { return "prints a dump of statistics as a table"; }
  const char* example() const noexcept override {
    return "forebay bench cold-start --stats pool.json && forebay stats pool.json\n"
           "  The sums in it are checked; one that does not hold makes it exit with 1.";
  }
  void declare(OptionSet& options) override {
    options.argument("FILE", file_, true, "a forebay.stats/1 document");
  }
  ExitCode run() override {
    const JsonDocument document(content(file_), file_);
    OutputFile("-").write(stats_table(document, file_));
    const std::string lie = pool::check_identities(read_pool_stats(document, file_));
    if (!lie.empty()) throw Error("'" + file_ + "' does not add up: " + lie);
    return kDone;
  }

 private:
  std::string file_;
};

}  // namespace

std::unique_ptr<Command> make_stats() { return std::make_unique<Stats>(); }

}  // namespace forebay::tools
