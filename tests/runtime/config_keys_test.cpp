#include "runtime/config_keys.hpp"

#include <cmath>
#include <limits>
#include <set>

#include "tests/support/catch.hpp"

using namespace forebay;
namespace keys = forebay::config_keys;

namespace {
const keys::Key& key_at(const std::string& pointer) {
  for (const keys::Key& key : keys::all()) {
    if (key.pointer == pointer) return key;
  }
  throw std::out_of_range(pointer);
}
}  // namespace

TEST_CASE("Every key stands once, reaches a field of its own, and its default is allowed") {
  Config config;
  std::set<std::string> pointers;
  std::set<const void*> fields;
  for (const keys::Key& key : keys::all()) {
    INFO(key.pointer);
    CHECK(pointers.insert(key.pointer).second);
    const void* address = std::visit([](auto* p) -> const void* { return p; }, key.field(config));
    CHECK(fields.insert(address).second);
    CHECK(keys::complaint(key, config).empty());
    CHECK(key.idle(config).empty());
    CHECK_FALSE(key.description.empty());
    CHECK(key.description.back() == '.');
  }
  CHECK(pointers.count("/pool/slab/max_block") == 1);
  CHECK(pointers.count("/pinned/capacity") == 1);
  // Pinned memory comes in regions, and is everybody's already.
  for (const char* key : {"address_range", "backing", "peers", "export"}) {
    CHECK(pointers.count(std::string("/pinned/") + key) == 0);
  }
}

TEST_CASE("Keys of one object stand together") {
  std::set<std::string> done;
  std::string current;
  for (const keys::Key& key : keys::all()) {
    const std::string object = key.pointer.substr(0, key.pointer.find('/', 1));
    if (object == current) continue;
    INFO(object);
    CHECK(done.insert(object).second);
    current = object;
  }
}

TEST_CASE("Both ends of every range are allowed, and nothing beyond them") {
  for (const keys::Key& key : keys::all()) {
    if (key.range.most == key.range.least) continue;
    INFO(key.pointer);
    Config config;
    const auto complaint_at = [&](double value) {
      // Other keys stay where they do not clash.
      config.pool.slab_max_block = 256;
      config.pinned.slab_max_block = 256;
      config.pool.buddy_max_block = config.pinned.buddy_max_block = 0;
      config.pool.leak_stacks = config.pinned.leak_stacks = pool::StackMode::sampled;
      config.upload.chunk_bytes = 4096;
      config.upload.ring_bytes = std::size_t{32} << 20;
      std::visit(
          [&](auto* field) {
            using Type = std::remove_pointer_t<decltype(field)>;
            if constexpr (std::is_arithmetic_v<Type> && !std::is_same_v<Type, bool>) {
              *field = static_cast<Type>(value);
            }
          },
          key.field(config));
      return keys::complaint(key, config);
    };
    CHECK(complaint_at(key.range.least).empty());
    CHECK(complaint_at(key.range.most).empty());
    CHECK_FALSE(complaint_at(key.range.most * 2 + 1).empty());
    if (key.range.least > 1) CHECK_FALSE(complaint_at(1).empty());
    CHECK(complaint_at(0).empty() == (key.range.or_zero || key.range.least == 0));
  }
}

TEST_CASE("A complaint says what was found and what is allowed") {
  Config config;
  config.fusion.max_ops = 0;
  CHECK(keys::complaint(key_at("/fusion/max_ops"), config) ==
        "found 0, allowed is an integer from 1 to 4096");
  config.upload.ring_bytes = 1;
  CHECK(keys::complaint(key_at("/upload/ring_bytes"), config) ==
        "found 1 B, allowed is a size from 64 KiB to 32 MiB (an integer in bytes, or a string such "
        "as \"64 KiB\")");
  config.fusion.pinned_fraction = std::nan("");
  CHECK(keys::complaint(key_at("/fusion/pinned_fraction"), config) ==
        "found nan, allowed is a number from 0 to 1");
  config.fusion.pinned_fraction = std::numeric_limits<double>::infinity();
  CHECK(keys::complaint(key_at("/fusion/pinned_fraction"), config) ==
        "found inf, allowed is a number from 0 to 1");
  config.pool.mode = static_cast<pool::PoolMode>(9);
  CHECK(keys::complaint(key_at("/pool/mode"), config) ==
        "found enumerator 9, allowed is one of \"pooled\", \"passthrough\"");
}

TEST_CASE("A program's own ladder is checked as a file's") {
  Config config;
  config.pool.ladder = {pool::LadderRung::completed};
  CHECK(keys::complaint(key_at("/pool/ladder"), config) ==
        "rung 1: found no \"map\"; \"completed\" and \"map\" have to be among them");
  config.pool.ladder = {pool::LadderRung::completed, pool::LadderRung::map, pool::LadderRung::wait,
                        pool::LadderRung::wait};
  CHECK(keys::complaint(key_at("/pool/ladder"), config) ==
        "rung 3: found \"wait\" a second time; each rung may be given once");
  config.pool.ladder.pop_back();
  CHECK(keys::complaint(key_at("/pool/ladder"), config).empty());
}

TEST_CASE("Values that do not fit together are found") {
  Config config;
  config.pool.buddy_max_block = config.pool.slab_max_block;
  CHECK(keys::complaint(key_at("/pool/buddy/max_block"), config).find("has no effect") !=
        std::string::npos);
  config = {};
  config.pool.capacity = std::size_t{64} << 20;
  config.pool.address_range = std::size_t{32} << 20;
  config.pool.handle_size = std::size_t{128} << 20;
  CHECK(
      keys::complaint(key_at("/pool/address_range"), config).find("less than capacity (64 MiB)") !=
      std::string::npos);
  CHECK(keys::complaint(key_at("/pool/handle_size"), config).find("more than capacity (64 MiB)") !=
        std::string::npos);
  config.pool.handle_size = (std::size_t{2} << 20) + 4096;
  CHECK(keys::complaint(key_at("/pool/handle_size"), config).find("not a multiple of 2 MiB") !=
        std::string::npos);
  config = {};
  config.pool.export_as = pool::PoolExport::fd;
  CHECK(keys::complaint(key_at("/pool/export"), config).empty());
  config.pool.backing = pool::PoolBacking::malloc;
  CHECK(keys::complaint(key_at("/pool/export"), config) ==
        "found \"fd\", which is impossible with backing \"malloc\"; allowed is one of \"none\", "
        "\"fd\"");
  config.pool.mode = pool::PoolMode::passthrough;
  CHECK(keys::complaint(key_at("/pool/export"), config).find("passthrough") != std::string::npos);
  config = {};
  config.pinned.leak_sample_bytes = 4096;
  CHECK(keys::complaint(key_at("/pinned/leaks/sample_bytes"), config)
            .find("without effect as long as leaks/stacks is not \"sampled\"") !=
        std::string::npos);
  config.pinned.leak_stacks = pool::StackMode::sampled;
  CHECK(keys::complaint(key_at("/pinned/leaks/sample_bytes"), config).empty());
  config = {};
  config.upload.ring_bytes = std::size_t{64} << 10;
  CHECK(
      keys::complaint(key_at("/upload/chunk_bytes"), config).find("/upload/ring_bytes (64 KiB)") !=
      std::string::npos);
}

TEST_CASE("A folder is empty or an absolute path on one line") {
  Config config;
  const keys::Key& key = key_at("/kernels/cache/folder");
  for (const std::string& good : {std::string(), std::string("/"), std::string("/a b/\xc3\xa4"),
                                  "/" + std::string(keys::kLongestFolder - 1, 'a')}) {
    config.kernels.cache.folder = good;
    CHECK(keys::complaint(key, config).empty());
    CHECK(keys::number(key, config) == static_cast<double>(good.size()));
  }
  for (const std::string& bad :
       {std::string("a"), std::string("~/cache"), std::string("./a"), std::string("/a\nb"),
        std::string("/a\0b", 4), "/" + std::string(keys::kLongestFolder, 'a')}) {
    config.kernels.cache.folder = bad;
    const std::string complaint = keys::complaint(key, config);
    INFO(complaint);
    CHECK(complaint.find("allowed is \"\" or an absolute path") != std::string::npos);
    CHECK(complaint.find('\n') == std::string::npos);
    CHECK(complaint.size() < 200);
  }
  // What is no UTF-8 can still be told.
  config.kernels.cache.folder = "/\xff";
  CHECK(config.to_json().find("\"/\xef\xbf\xbd\"") != std::string::npos);
}

TEST_CASE("The kernel cache's other keys have no effect while it is off") {
  Config config;
  config.kernels.cache.enabled = false;
  for (const char* name : {"folder", "max_bytes", "max_entries"}) {
    CHECK(key_at(std::string("/kernels/cache/") + name).idle(config) ==
          "/kernels/cache/enabled is false");
  }
}

TEST_CASE("Checking names the configuration and the key") {
  Config config;
  CHECK_NOTHROW(keys::check(config, "mine"));
  config.matmul.max_plans = 0;
  try {
    keys::check(config, "mine");
    FAIL("nothing was thrown");
  } catch (const ConfigError& error) {
    CHECK(std::string(error.what()) ==
          "mine: /matmul/max_plans: found 0, allowed is an integer from 1 to 65536");
  }
}

TEST_CASE("The nearest key is the one that a user meant") {
  CHECK(keys::nearest("/pool/capasity") == "/pool/capacity");
  CHECK(keys::nearest("/capacity") == "/pool/capacity");
  CHECK(keys::nearest("/pool/max_ops") == "/fusion/max_ops");
  CHECK(keys::nearest("/pol") == "/pool");
  CHECK(keys::nearest("/pool/slabs") == "/pool/slab");
  CHECK(keys::nearest("/pinned/budy/max_block") == "/pinned/buddy/max_block");
  CHECK_FALSE(keys::nearest(std::string(1 << 20, 'x')).empty());
}
