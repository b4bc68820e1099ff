// forebay stats FILE
#include <string>

#include "forebay/pool/error.hpp"
#include "tools/forebay/commands.hpp"
#include "tools/forebay/dump_file.hpp"
#include "tools/forebay/output.hpp"
#include "tools/forebay/stats_table.hpp"

namespace forebay::tools {
namespace {

class Stats final : public Command {
 public:
  const char* path() const noexcept override { return "stats"; }
  const char* summary() const noexcept override { return "prints a dump of statistics as a table"; }
  const char* example() const noexcept override {
    return "forebay stats pool.json   (after 'forebay bench cold-start --stats pool.json')\n"
           "  The sums in it are checked; one that does not hold makes it exit with 1.";
  }
  void declare(OptionSet& options) override {
    options.argument("FILE", file_, true, "a forebay.stats/1 document");
  }
  ExitCode run() override {
    OutputFile out("-");
    require_distinct({{"standard output", out, file_}}, {{"FILE", file_}});
    const JsonDocument document(read_dump(file_, "--stats"), file_);
    out.write(stats_table(document, file_));
    const std::string lie = check_document(document, file_);
    if (!lie.empty()) throw Error("'" + file_ + "' does not add up: " + lie);
    return kDone;
  }

 private:
  std::string file_;
};

}  // namespace

std::unique_ptr<Command> make_stats() { return std::make_unique<Stats>(); }

}  // namespace forebay::tools
