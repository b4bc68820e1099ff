// forebay devices
#include <cstdio>

#include "forebay/runtime/runtime.hpp"
#include "tools/forebay/commands.hpp"
#include "tools/forebay/json_writer.hpp"
#include "tools/forebay/output.hpp"

namespace forebay::tools {
namespace {

class Devices final : public Command {
 public:
  const char* path() const noexcept override { return "devices"; }
  const char* summary() const noexcept override {
    return "what was found, and why something was not";
  }
  const char* example() const noexcept override {
    return "forebay devices --json devices.json   (the table, and the same as JSON)";
  }
  void declare(OptionSet& options) override {
    options.text_or("json", json_file_, "-", "FILE|-",
                    "write JSON; alone or with - instead of the table");
  }

  ExitCode run() override {
    OutputFile json(json_file_);
    const std::vector<DeviceReport> reports = Runtime::create().devices();
    if (!json.is_standard_output()) print(reports);
    JsonWriter out;
    out.begin_object().key("devices").begin_array();
    for (const DeviceReport& report : reports) {
      out.begin_object()
          .field("id", report.id)
          .field("name", report.name)
          .field("usable", report.usable)
          .field("detail", report.detail)
          .end_object();
    }
    json.write(out.end_array().end_object().text());
    return kDone;
  }

 private:
  static void print(const std::vector<DeviceReport>& reports) {
    for (const DeviceReport& report : reports) {
      const std::string name = report.name.empty() ? "" : report.name + ", ";
      std::printf("%-8s %-12s %s%s\n", report.id.c_str(), report.usable ? "usable" : "not usable",
                  name.c_str(), report.detail.c_str());
    }
  }

  std::string json_file_;
};

}  // namespace

std::unique_ptr<Command> make_devices() { return std::make_unique<Devices>(); }

}  // namespace forebay::tools
