// forebay cache ls|verify|clear
#include <algorithm>
#include <string>

#include "forebay/pool/error.hpp"
#include "forebay/runtime/config.hpp"
#include "runtime/cache_folder.hpp"
#include "runtime/size_text.hpp"
#include "tools/forebay/bench_run.hpp"
#include "tools/forebay/cache_listing.hpp"
#include "tools/forebay/commands.hpp"

namespace forebay::tools {
namespace {

/// Which cache a subcommand is about.
class CacheOptions {
 public:
  void declare(OptionSet& options) {
    options.text("config", config_file_, "FILE", "the configuration that places and bounds it");
    options.text("folder", folder_, "DIR", "the folder, whatever the configuration says");
  }

  struct Cache {
    std::unique_ptr<CacheFolder> folder;  ///< null where there is none yet
    std::string path;                     ///< as a message has it
    KernelCacheConfig config;
  };
  /// Makes nothing. Throws ConfigError, and Error for a folder that cannot be trusted.
  [[nodiscard]] Cache open() const {
    Cache cache;
    cache.config = load_config(config_file_).kernels.cache;
    std::filesystem::path path = folder_.empty() ? cache.config.folder : folder_;
    if (path.empty()) path = default_cache_folder();
    if (path.empty()) {
      throw Error("there is no cache: neither XDG_CACHE_HOME nor HOME holds an absolute path; " +
                  std::string("--folder DIR names one"));
    }
    cache.path = path.string();
    CacheFolder::Opened opened = CacheFolder::open(path, CacheFolder::Missing::refuse);
    if (opened.folder == nullptr && !opened.absent) throw Error(printable(opened.problem));
    cache.folder = std::move(opened.folder);
    return cache;
  }

 private:
  std::string config_file_;
  std::string folder_;
};

CacheListing listing_of(const CacheOptions::Cache& cache) {
  CacheListing listing;
  if (cache.folder != nullptr) listing = list_cache(*cache.folder);
  listing.folder = cache.path;
  listing.max_bytes = cache.config.max_bytes;
  listing.max_entries = cache.config.max_entries;
  return listing;
}

std::string count_of(std::size_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

class CacheLs final : public Command {
 public:
  const char* path() const noexcept override { return "cache ls"; }
  const char* summary() const noexcept override { return "lists the compiled kernels on disk"; }
  const char* example() const noexcept override {
    return "forebay cache ls --json kernels.json   (the table, and the same as JSON)";
  }
  void declare(OptionSet& options) override {
    options_.declare(options);
    options.text_or("json", json_file_, "-", "FILE|-",
                    "write JSON; alone or with - instead of the table");
  }
  ExitCode run() override {
    OutputFile json(json_file_);
    const CacheListing listing = listing_of(options_.open());
    if (!json.is_standard_output()) OutputFile("-").write(cache_table(listing));
    json.write(cache_json(listing));
    return kDone;
  }

 private:
  CacheOptions options_;
  std::string json_file_;
};

class CacheVerify final : public Command {
 public:
  const char* path() const noexcept override { return "cache verify"; }
  const char* summary() const noexcept override {
    return "checks every bit of the compiled kernels on disk";
  }
  const char* example() const noexcept override {
    return "forebay cache verify   ('3 kernels are right', or a line for each that is not)";
  }
  void declare(OptionSet& options) override { options_.declare(options); }
  ExitCode run() override {
    const CacheListing listing = listing_of(options_.open());
    std::string text;
    std::size_t wrong = 0;
    std::size_t foreign = 0;
    for (const CachedKernel& kernel : listing.kernels) {
      foreign += kernel.foreign;
      wrong += kernel.wrong();
      if (kernel.wrong()) text += kernel.name + ": " + printable(kernel.problem) + "\n";
    }
    const std::size_t right = listing.kernels.size() - wrong - foreign;
    text += count_of(right, "kernel") + (right == 1 ? " is right" : " are right");
    if (foreign > 0) text += ", " + std::to_string(foreign) + " of another version not checked";
    OutputFile("-").write(text + "\n");
    if (wrong > 0) {
      throw Error(std::to_string(wrong) + " of " + count_of(listing.kernels.size(), "file") +
                  " in '" + printable(listing.folder) +
                  "' are wrong; whoever needs one compiles it again, 'forebay cache clear' "
                  "removes all");
    }
    return kDone;
  }

 private:
  CacheOptions options_;
};

class CacheClear final : public Command {
 public:
  const char* path() const noexcept override { return "cache clear"; }
  const char* summary() const noexcept override {
    return "removes the compiled kernels on disk; nothing that runs is disturbed";
  }
  const char* example() const noexcept override {
    return "forebay cache clear   (prints how much was removed)";
  }
  void declare(OptionSet& options) override { options_.declare(options); }
  ExitCode run() override {
    const CacheOptions::Cache cache = options_.open();
    std::size_t removed = 0;
    std::size_t kept = 0;
    std::uint64_t bytes = 0;
    if (cache.folder != nullptr) {
      for (const CacheFolder::File& file : cache.folder->list()) {
        if (cache.folder->remove(file.name)) {
          ++removed;
          bytes += file.bytes;
        } else if (cache.folder->read(file.name).state != CacheFolder::Read::State::absent) {
          ++kept;  // else somebody else was faster
        }
      }
    }
    OutputFile("-").write("removed " + count_of(removed, "file") + ", " + describe_size(bytes) +
                          ", from '" + printable(cache.path) + "'\n");
    if (kept > 0) {
      throw Error(count_of(kept, "file") + " in '" + printable(cache.path) +
                  "' cannot be removed; is the folder writable, or is one a folder with content?");
    }
    return kDone;
  }

 private:
  CacheOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_cache_ls() { return std::make_unique<CacheLs>(); }
std::unique_ptr<Command> make_cache_verify() { return std::make_unique<CacheVerify>(); }
std::unique_ptr<Command> make_cache_clear() { return std::make_unique<CacheClear>(); }

}  // namespace forebay::tools
