// forebay leaks FILE
#include <array>
#include <string>

#include "forebay/pool/error.hpp"
#include "forebay/pool/leaks.hpp"
#include "tools/forebay/commands.hpp"
#include "tools/forebay/dump_file.hpp"
#include "tools/forebay/json_reader.hpp"
#include "tools/forebay/output.hpp"

namespace forebay::tools {
namespace {

/// Reads the part of a forebay.leaks/1 document about one pool.
class Reader {
 public:
  Reader(const JsonDocument& document, std::string pool, const std::string& file)
      : document_(document), pool_(std::move(pool)), file_(file) {}

  [[nodiscard]] pool::LeakReport read() const {
    pool::LeakReport report;
    report.stacks = stacks();
    report.sample_bytes = count("/sample_bytes");
    report.symbols = text("/symbols");
    report.blocks = count("/blocks");
    report.bytes = count("/bytes");
    if (!document_.is_array(pool_ + "/groups")) refuse("/groups", "list");
    report.groups.resize(document_.size(pool_ + "/groups"));
    for (std::size_t i = 0; i < report.groups.size(); ++i) {
      const std::string place = "/groups/" + std::to_string(i);
      pool::LeakGroup& group = report.groups[i];
      group.tag = text(place + "/tag");
      group.blocks = count(place + "/blocks");
      group.bytes = count(place + "/bytes");
      group.estimated_bytes = count(place + "/estimated_bytes");
      group.first = count(place + "/first");
      group.last = count(place + "/last");
      if (!document_.is_array(pool_ + place + "/site")) refuse(place + "/site", "list");
      group.site.resize(document_.size(pool_ + place + "/site"));
      for (std::size_t frame = 0; frame < group.site.size(); ++frame) {
        group.site[frame] = text(place + "/site/" + std::to_string(frame));
      }
    }
    require_sum("blocks", report.blocks, report.groups, &pool::LeakGroup::blocks);
    require_sum("bytes", report.bytes, report.groups, &pool::LeakGroup::bytes);
    return report;
  }

 private:
  [[nodiscard]] pool::StackMode stacks() const {
    const std::string name = text("/stacks");
    for (const auto mode : {pool::StackMode::off, pool::StackMode::sampled, pool::StackMode::all}) {
      if (name == to_string(mode)) return mode;
    }
    refuse("/stacks", "off, sampled or all");
  }
  [[nodiscard]] std::uint64_t count(const std::string& place) const {
    const auto found = document_.count(pool_ + place);
    if (!found) refuse(place, "whole number");
    return *found;
  }
  [[nodiscard]] std::string text(const std::string& place) const {
    const auto found = document_.text(pool_ + place);
    if (!found) refuse(place, "text");
    return *found;
  }
  void require_sum(const char* name, std::uint64_t total,
                   const std::vector<pool::LeakGroup>& groups,
                   std::uint64_t pool::LeakGroup::*part) const {
    std::uint64_t sum = 0;
    for (const pool::LeakGroup& group : groups) sum += group.*part;
    if (sum == total) return;
    throw Error("'" + file_ + "' does not add up: " + pool_ + "/" + name + " is " +
                std::to_string(total) + ", and its groups have " + std::to_string(sum));
  }
  [[noreturn]] void refuse(const std::string& place, const char* what) const {
    throw Error("'" + file_ + "' has no " + what + " at " + pool_ + place +
                ", where every forebay.leaks/1 has one");
  }

  const JsonDocument& document_;
  const std::string pool_;
  const std::string& file_;
};

class Leaks final : public Command {
 public:
  const char* path() const noexcept override { return "leaks"; }
  const char* summary() const noexcept override { return "prints a report of what was live"; }
  const char* example() const noexcept override {
    return "forebay leaks leaks.json   (after 'forebay bench reinit --leaks leaks.json')\n"
           "  Live blocks by tag, and by place with pool.leaks.stacks in the configuration.";
  }
  void declare(OptionSet& options) override {
    options.argument("FILE", file_, true, "a forebay.leaks/1 document");
    options.flag("fail", fail_, "exit with 1 if anything was live");
  }
  ExitCode run() override {
    OutputFile out("-");
    require_distinct({{"standard output", out, file_}}, {{"FILE", file_}});
    const JsonDocument document(read_dump(file_, "--leaks"), file_);
    if (document.text("/schema") != "forebay.leaks/1") {
      throw Error("'" + file_ + "' is no forebay.leaks/1; 'forebay bench reinit --leaks FILE' " +
                  "makes one");
    }
    std::string text = "device " + word(document, "/device", "unknown") + " at " +
                       word(document, "/time", "an unknown time") + "\n";
    std::uint64_t live = 0;
    for (const char* pool : {"pool", "pinned"}) {
      const std::string place = std::string("/") + pool;
      if (place != "/pool" && document.json(place) == "null") continue;  // the host has one pool
      const pool::LeakReport report = Reader(document, place, file_).read();
      text += std::string("\n") + pool + ": " + to_text(report);
      live += report.blocks;
    }
    out.write(text);
    if (fail_ && live > 0) {
      throw Error("'" + file_ + "' has " + std::to_string(live) + " live blocks");
    }
    return kDone;
  }

 private:
  /// A text that may be missing, but be nothing else.
  std::string word(const JsonDocument& document, const char* pointer, const char* otherwise) const {
    const auto found = document.text(pointer);
    if (!found && document.json(pointer) != "null") {
      throw Error("'" + file_ + "' has no text at " + pointer +
                  ", where every forebay.leaks/1 has one");
    }
    return printable(found.value_or(otherwise));
  }

  std::string file_;
  bool fail_ = false;
};

}  // namespace

std::unique_ptr<Command> make_leaks() { return std::make_unique<Leaks>(); }

}  // namespace forebay::tools
