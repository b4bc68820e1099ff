#include "forebay/runtime/config.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include "runtime/config_keys.hpp"
#include "tests/pool/effort.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;

namespace {

/// What parsing complains about, empty if it accepts the text.
std::string complaint(const std::string& text) {
  try {
    (void)Config::parse(text, "c.json");
    return {};
  } catch (const ConfigError& error) {
    return error.what();
  }
}

void refuses(const std::string& text, const std::string& line) {
  INFO(text);
  CHECK(complaint(text) == line);
}

const std::string kSizes = "(an integer in bytes, or a string such as \"64 KiB\")";

}  // namespace

TEST_CASE("An empty object is every default") {
  CHECK(Config::parse("{}").to_json() == Config{}.to_json());
  CHECK(Config::parse(" \n{ }\t").to_json() == Config{}.to_json());
  CHECK(Config::parse(R"({"$schema": "forebay.schema.json"})").to_json() == Config{}.to_json());
}

TEST_CASE("Every kind of value is read") {
  const Config config = Config::parse(R"({
    "pool": {"capacity": "1.5 GiB", "address_range": 17179869184, "handle_size": "4 MiB",
             "slab": {"max_block": "32 KiB"}, "buddy": {"max_block": 0}, "points": {"every_frees": 8},
             "wait_limit_ms": 0, "latency_sample": 1, "mode": "pooled", "backing": "vmm",
             "peers": "reachable", "export": "fd", "on_misuse": "abort"},
    "pinned": {"capacity": "64 MiB", "mode": "passthrough"},
    "fusion": {"max_ops": 17, "max_inputs": 5, "max_height": 9, "pinned_fraction": 0.25},
    "upload": {"ring_bytes": "8 MiB", "chunk_bytes": 65536, "threads": 3},
    "kernels": {"compiler_cache": false, "cache": {"folder": "/k", "max_entries": 17}},
    "matmul": {"workspace_bytes": 0, "max_plans": 7},
    "host": {"threads": 2},
    "log": {"level": "debug"}})");
  CHECK(config.pool.capacity == std::size_t{3} << 29);
  CHECK(config.pool.address_range == std::size_t{16} << 30);
  CHECK(config.pool.handle_size == std::size_t{4} << 20);
  CHECK(config.pool.slab_max_block == 32768);
  CHECK(config.pool.buddy_max_block == 0);
  CHECK(config.pool.point_every_frees == 8);
  CHECK(config.pool.wait_limit_ms == 0);
  CHECK(config.pool.latency_sample == 1);
  CHECK(config.pool.mode == pool::PoolMode::pooled);
  CHECK(config.pool.backing == pool::PoolBacking::vmm);
  CHECK(config.pool.peers == pool::PoolPeers::reachable);
  CHECK(config.pool.export_as == pool::PoolExport::fd);
  CHECK(config.pool.on_misuse == pool::MisusePolicy::abort);
  CHECK(config.pinned.capacity == std::size_t{64} << 20);
  CHECK(config.pinned.mode == pool::PoolMode::passthrough);
  CHECK(config.fusion.max_ops == 17);
  CHECK(config.fusion.max_inputs == 5);
  CHECK(config.fusion.max_height == 9);
  CHECK(config.fusion.pinned_fraction == 0.25);
  CHECK(config.upload.ring_bytes == std::size_t{8} << 20);
  CHECK(config.upload.chunk_bytes == 65536);
  CHECK(config.upload.threads == 3);
  CHECK_FALSE(config.kernels.compiler_cache);
  CHECK(config.kernels.cache.folder == "/k");
  CHECK(config.kernels.cache.max_entries == 17);
  CHECK(config.matmul.workspace_bytes == 0);
  CHECK(config.matmul.max_plans == 7);
  CHECK(config.host_threads == 2);
  CHECK(config.log_level == LogLevel::debug);

  // What is written reads back as the same; keys without effect are left out.
  const std::string text = config.to_json();
  CHECK(Config::parse(text).to_json() == text);
  CHECK(Config::parse(text).pool.capacity == config.pool.capacity);
  CHECK(text.find("\"32 KiB\"") != std::string::npos);
}

TEST_CASE("Every key survives writing and reading with a value that is not its default") {
  for (const auto& key : config_keys::all()) {
    INFO(key.pointer);
    Config config;
    config.pool.capacity = std::size_t{1} << 30;
    const double before = config_keys::number(key, config);
    std::visit(
        [&](auto* field) {
          using Type = std::remove_pointer_t<decltype(field)>;
          if constexpr (std::is_same_v<Type, bool>) {
            *field = !*field;
          } else if constexpr (std::is_same_v<Type, std::string>) {
            *field = "/some where/\"else\"";
          } else if constexpr (std::is_same_v<Type, pool::Ladder>) {
            *field = {pool::LadderRung::completed, pool::LadderRung::map};
          } else if constexpr (std::is_enum_v<Type>) {
            *field = static_cast<Type>(*field == Type{} ? 1 : 0);
          } else {
            *field = static_cast<Type>(
                *field == static_cast<Type>(key.range.most) ? key.range.least : key.range.most);
          }
        },
        key.field(config));
    // Neighbours that the new value would clash with.
    if (key.pointer == "/pool/handle_size") config.pool.capacity = config.pool.handle_size;
    if (key.pointer == "/pool/soft_limit") config.pool.capacity = config.pool.soft_limit;
    if (key.pointer == "/upload/ring_bytes") config.upload.chunk_bytes = 4096;
    if (key.pointer == "/pool/buddy/max_block") config.pool.slab_max_block = 256;
    if (key.pointer == "/pinned/buddy/max_block") config.pinned.slab_max_block = 256;
    if (key.pointer.find("/leaks/sample_bytes") != std::string::npos) {
      config.pool.leak_stacks = config.pinned.leak_stacks = pool::StackMode::sampled;
    }
    if (key.pointer == "/pool/slab/max_block") config.pool.buddy_max_block = 0;
    if (key.pointer == "/pinned/slab/max_block") config.pinned.buddy_max_block = 0;
    const Config back = Config::parse(config.to_json());
    CHECK(config_keys::number(key, back) == config_keys::number(key, config));
    CHECK(config_keys::number(key, back) != before);
  }
}

TEST_CASE("A ladder is a list of rungs, and what is wrong with it is told at its place") {
  const Config config = Config::parse(R"({"pool": {"ladder": ["completed", "wait", "map"]},
                                          "pinned": {"ladder": ["completed", "map"]}})");
  using R = pool::LadderRung;
  CHECK(config.pool.ladder == pool::Ladder{R::completed, R::wait, R::map});
  CHECK(config.pinned.ladder == pool::Ladder{R::completed, R::map});
  CHECK(Config::parse(config.to_json()).pool.ladder == config.pool.ladder);
  const std::string all =
      "\"completed\", \"map\", \"steal\", \"remap\", \"grow\", \"trim\", \"callback\", \"wait\"";
  const std::string list =
      "a list of \"completed\" first, \"map\", and any others of " + all + ", each once";
  refuses(R"({"pool": {"ladder": "map"}})",
          "c.json: /pool/ladder: found \"map\", allowed is " + list);
  refuses(R"({"pool": {"ladder": {"0": "map"}}})",
          "c.json: /pool/ladder: found {\"0\":\"map\"}, allowed is " + list);
  refuses(R"({"pool": {"ladder": ["completed", "map", "stael"]}})",
          "c.json: /pool/ladder/2: found \"stael\", allowed is one of " + all);
  refuses(R"({"pool": {"ladder": ["completed", 7]}})",
          "c.json: /pool/ladder/1: found 7, allowed is one of " + all);
  refuses(R"({"pinned": {"ladder": ["completed", "map", "wait", "map"]}})",
          "c.json: /pinned/ladder/3: found \"map\" a second time; each rung may be given once");
  refuses(R"({"pool": {"ladder": ["map", "completed"]}})",
          "c.json: /pool/ladder/0: found \"map\", allowed is \"completed\": what is free by now "
          "comes first");
  refuses(R"({"pool": {"ladder": ["completed", "steal"]}})",
          "c.json: /pool/ladder: found no \"map\"; \"completed\" and \"map\" have to be among "
          "them");
  refuses(R"({"pool": {"ladder": []}})",
          "c.json: /pool/ladder: found no \"completed\"; \"completed\" and \"map\" have to be "
          "among them");
  refuses(R"({"pool": {"mode": "passthrough", "ladder": ["completed", "map"]}})",
          "c.json: /pool/ladder: the key has no effect while /pool/mode is \"passthrough\"; leave "
          "it out");
}

TEST_CASE("Unknown keys are refused with the nearest one") {
  refuses(R"({"pool": {"capasity": 1}})",
          "c.json: /pool/capasity: unknown key; the nearest known key is /pool/capacity");
  refuses(R"({"capacity": 1})",
          "c.json: /capacity: unknown key; the nearest known key is /pool/capacity");
  refuses(R"({"pool": {"slab": {"max_blok": 1}}})",
          "c.json: /pool/slab/max_blok: unknown key; the nearest known key is "
          "/pool/slab/max_block");
  refuses(R"({"po/ol": 1})", "c.json: /po~1ol: unknown key; the nearest known key is /pool");
  refuses(R"({"pool/capacity": 1})",
          "c.json: /pool~1capacity: unknown key; the nearest known key is /pool/capacity");
  refuses("{\"po\\nol\": 1}", "c.json: /po\\nol: unknown key; the nearest known key is /pool");
  CHECK(complaint("{\"\": 1}").find("unknown key") != std::string::npos);
}

TEST_CASE("Wrong types are refused") {
  refuses(R"([])", "c.json: found [], allowed is an object of keys");
  refuses(R"(7)", "c.json: found 7, allowed is an object of keys");
  refuses(R"({"pool": 5})", "c.json: /pool: found 5, allowed is an object of keys");
  refuses(R"({"pool": {"slab": null}})",
          "c.json: /pool/slab: found null, allowed is an object of keys");
  refuses(
      R"({"pool": {"capacity": true}})",
      "c.json: /pool/capacity: found true, allowed is 0 or a size from 2 MiB to 128 TiB " + kSizes);
  refuses(
      R"({"pool": {"capacity": 1.5}})",
      "c.json: /pool/capacity: found 1.5, allowed is 0 or a size from 2 MiB to 128 TiB " + kSizes);
  refuses(
      R"({"pool": {"capacity": {"bytes": 1}}})",
      "c.json: /pool/capacity: found {\"bytes\":1}, allowed is 0 or a size from 2 MiB to 128 TiB " +
          kSizes);
  refuses(R"({"pool": {"capacity": "64 MB"}})",
          "c.json: /pool/capacity: found \"64 MB\", allowed is 0 or a size from 2 MiB to 128 TiB " +
              kSizes);
  refuses(R"({"fusion": {"max_ops": "17"}})",
          "c.json: /fusion/max_ops: found \"17\", allowed is an integer from 1 to 4096");
  refuses(R"({"fusion": {"max_ops": 17.0}})",
          "c.json: /fusion/max_ops: found 17.0, allowed is an integer from 1 to 4096");
  refuses(R"({"kernels": {"cache": {"folder": "~/kernels"}}})",
          "c.json: /kernels/cache/folder: found \"~/kernels\", allowed is \"\" or an absolute path "
          "without control characters");
  refuses(R"({"kernels": {"cache": {"folder": null}}})",
          "c.json: /kernels/cache/folder: found null, allowed is \"\" or an absolute path without "
          "control characters");
  refuses(R"({"kernels": {"cache": {"enabled": false, "max_bytes": "1 GiB"}}})",
          "c.json: /kernels/cache/max_bytes: the key has no effect while /kernels/cache/enabled is "
          "false; leave it out");
  refuses(R"({"kernels": {"compiler_cache": 1}})",
          "c.json: /kernels/compiler_cache: found 1, allowed is true or false");
  refuses(
      R"({"log": {"level": 2}})",
      "c.json: /log/level: found 2, allowed is one of \"trace\", \"debug\", \"info\", \"warn\", "
      "\"error\", \"off\"");
  refuses(R"({"pool": {"mode": "pool"}})",
          "c.json: /pool/mode: found \"pool\", allowed is one of \"pooled\", \"passthrough\"");
}

TEST_CASE("Values out of range are refused") {
  refuses(
      R"({"pool": {"capacity": -5}})",
      "c.json: /pool/capacity: found -5, allowed is 0 or a size from 2 MiB to 128 TiB " + kSizes);
  refuses(
      R"({"pool": {"capacity": "-5 MiB"}})",
      "c.json: /pool/capacity: found \"-5 MiB\", allowed is 0 or a size from 2 MiB to 128 TiB " +
          kSizes);
  refuses(
      R"({"pool": {"capacity": 4096}})",
      "c.json: /pool/capacity: found 4096, allowed is 0 or a size from 2 MiB to 128 TiB " + kSizes);
  refuses(R"({"pool": {"capacity": 18446744073709551616}})",
          "c.json: /pool/capacity: found 1.8446744073709552e+19, allowed is 0 or a size from 2 MiB "
          "to 128 TiB " +
              kSizes);
  refuses(R"({"fusion": {"max_ops": 4294967297}})",
          "c.json: /fusion/max_ops: found 4294967297, allowed is an integer from 1 to 4096");
  refuses(R"({"fusion": {"max_ops": -1}})",
          "c.json: /fusion/max_ops: found -1, allowed is an integer from 1 to 4096");
  refuses(R"({"fusion": {"pinned_fraction": 1.5}})",
          "c.json: /fusion/pinned_fraction: found 1.5, allowed is a number from 0 to 1");
  refuses(
      R"({"pool": {"capacity": "4 MiB", "handle_size": "8 MiB"}})",
      "c.json: /pool/handle_size: found 8 MiB, which is more than capacity (4 MiB); allowed is 0 "
      "or a size from 2 MiB to 64 GiB " +
          kSizes);
}

TEST_CASE("Keys without effect are refused, and only there") {
  refuses(R"({"pool": {"mode": "passthrough", "handle_size": "4 MiB"}})",
          "c.json: /pool/handle_size: the key has no effect while /pool/mode is \"passthrough\"; "
          "leave it out");
  refuses(R"({"pool": {"buddy": {"max_block": "1 MiB"}, "mode": "passthrough"}})",
          "c.json: /pool/buddy/max_block: the key has no effect while /pool/mode is "
          "\"passthrough\"; leave it out");
  for (const std::string key : {"address_range\": \"64 GiB", "export\": \"fd"}) {
    INFO(key);
    const std::string line = complaint("{\"pool\": {\"backing\": \"malloc\", \"" + key + "\"}}");
    CHECK(line == "c.json: /pool/" + key.substr(0, key.find('"')) +
                      ": the key has no effect while /pool/backing is \"malloc\"; leave it out");
  }
  refuses(R"({"pool": {"backing": "malloc", "idle_share": 0.1}})",
          "c.json: /pool/idle_share: the key has no effect while /pool/backing is \"malloc\"; "
          "leave it out");
  refuses(R"({"pool": {"backing": "malloc", "growth_step": 0.1}})",
          "c.json: /pool/growth_step: the key has no effect while /pool/backing is \"malloc\"; "
          "leave it out");
  refuses(R"({"pool": {"mode": "passthrough", "backing": "malloc"}})",
          "c.json: /pool/backing: the key has no effect while /pool/mode is \"passthrough\"; "
          "leave it out");
  CHECK(complaint(R"({"pool": {"backing": "malloc", "handle_size": "4 MiB", "peers": "all"}})")
            .empty());
  CHECK(complaint(R"({"pool": {"mode": "passthrough", "peers": "reachable"}})").empty());
  refuses(R"({"pinned": {"peers": "all"}})",
          "c.json: /pinned/peers: unknown key; the nearest known key is /pool/peers");
  CHECK(complaint(R"({"pool": {"mode": "passthrough"}, "pinned": {"handle_size": "4 MiB"}})")
            .empty());
  CHECK(complaint(R"({"pool": {"mode": "passthrough", "capacity": "8 MiB"}})").empty());
  CHECK(complaint(R"({"pool": {"buddy": {"max_block": "64 KiB"}}})").find("no effect") !=
        std::string::npos);
}

TEST_CASE("A key that is there twice is refused") {
  refuses(R"({"pool": {"capacity": 0, "mode": "pooled", "capacity": 0}})",
          "c.json: /pool/capacity: the key is there twice; each key may be given once");
  refuses(R"({"pool": {}, "log": {}, "pool": {}})",
          "c.json: /pool: the key is there twice; each key may be given once");
  CHECK(complaint(R"({"pool": {"slab": {}}, "pinned": {"slab": {}}})").empty());
}

TEST_CASE("What is not JSON is refused on one line") {
  for (const char* text :
       {"", " ", "{", "}", "{\"pool\": }", "{} x", "{}{}", "{'pool': {}}", "{\"pool\": {},}",
        "{\"fusion\": {\"pinned_fraction\": NaN}}", "{\"fusion\": {\"pinned_fraction\": Infinity}}",
        "{\"fusion\": {\"pinned_fraction\": 1e999}}", "{\"host\": {\"threads\": 01}}", "// x\n{}",
        "{\"log\": {\"level\": \"\xff\xfe\"}}", "{\"log\": \"\n\"}", "\xff\xff\xff"}) {
    INFO(text);
    const std::string line = complaint(text);
    CHECK(line.compare(0, 18, "c.json: not JSON: ") == 0);
    CHECK(line.find('\n') == std::string::npos);
    CHECK(line.find("json.exception") == std::string::npos);
  }
  CHECK(complaint(std::string(200'000, '[')).find("not JSON") != std::string::npos);
  CHECK(complaint(std::string("{\"pool\": \0}", 11)).find("not JSON") != std::string::npos);
}

TEST_CASE("Long or odd texts give short lines") {
  const std::string line =
      complaint("{\"log\": {\"level\": \"" + std::string(100'000, 'x') + "\"}}");
  CHECK(line.size() < 250);
  CHECK(complaint("{\"" + std::string(100'000, 'k') + "\": 1}").size() < 250);
  CHECK(complaint("{\"log\": {\"level\": \"a\\nb\"}}").find('\n') == std::string::npos);
  CHECK(complaint(std::string((1 << 20) + 1, ' ')) ==
        "c.json: longer than 1 MiB, so it is no configuration");
}

TEST_CASE("Files are read, and named when they cannot be") {
  const auto folder =
      std::filesystem::temp_directory_path() / ("forebay-config-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const auto file = folder / "c.json";
  std::ofstream(file) << R"({"host": {"threads": 3}})";
  CHECK(Config::load(file).host_threads == 3);

  const auto complaint_of = [](const std::filesystem::path& path) -> std::string {
    try {
      (void)Config::load(path);
      return {};
    } catch (const ConfigError& error) {
      return error.what();
    }
  };
  std::ofstream(file) << R"({"host": {"thread": 3}})";
  CHECK(complaint_of(file) == file.string() +
                                  ": /host/thread: unknown key; the nearest known key is "
                                  "/host/threads");
  CHECK(complaint_of(folder / "absent.json") ==
        (folder / "absent.json").string() + ": cannot be read: No such file or directory");
  CHECK(complaint_of(folder) == folder.string() + ": cannot be read: Is a directory");
  std::ofstream(file) << std::string((1 << 20) + 1, ' ');
  CHECK(complaint_of(file).find("longer than 1 MiB") != std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST_CASE("Every mistake of a file is told, and none that only another one makes") {
  const auto file = std::filesystem::temp_directory_path() /
                    ("forebay-mistakes-" + std::to_string(getpid()) + ".json");
  const auto mistakes = [&](const std::string& text) {
    std::ofstream(file) << text;
    std::vector<std::string> found = Config::mistakes(file);
    for (std::string& line : found) {
      CHECK(line.rfind(file.string() + ": ", 0) == 0);
      line = line.substr(file.string().size() + 2,
                         line.find(": ", file.string().size() + 2) - file.string().size() - 2);
    }
    return found;
  };
  using Pointers = std::vector<std::string>;
  CHECK(mistakes("{}").empty());
  CHECK(mistakes(R"({"pool": {"colour": 1, "capacity": "much", "handle_size": "3 MiB",
                              "points": {"every_frees": 0}, "slab": 5,
                              "debug": {"fill": true, "fill": false}},
                     "pinned": {"mode": "passthrough", "handle_count": 4},
                     "host": {"threads": 2000}, "news": {}})") ==
        Pointers{"/pool/debug/fill", "/host/threads", "/news", "/pool/capacity", "/pool/colour",
                 "/pool/points/every_frees", "/pool/slab", "/pinned/handle_count",
                 "/pool/handle_size"});
  // With the default of slab/max_block, buddy/max_block would be too small.
  CHECK(
      mistakes(R"({"pool": {"slab": {"max_block": "8 kB"}, "buddy": {"max_block": "16 KiB"}}})") ==
      Pointers{"/pool/slab/max_block"});
  CHECK(mistakes(R"({"pool": {"capacity": "4 MiB", "soft_limit": "8 MiB"}, "a": 1})") ==
        Pointers{"/a", "/pool/soft_limit"});
  CHECK(mistakes(R"({"a": 1, "a": 2, "b" 3})") == Pointers{"not JSON"});
  CHECK(mistakes(std::string((1 << 20) + 1, ' ')).size() == 1);
  std::string many = "{";
  for (int i = 0; i < 5000; ++i) many += "\"k" + std::to_string(i) + "\": 1, ";
  CHECK(mistakes(many + "\"k\": 1}").size() == 101);
  CHECK(mistakes(many + "\"k\": 1}").back() == "more than 99 mistakes; those above come first");
  std::filesystem::remove(file);
  REQUIRE(Config::mistakes(file).size() == 1);
  CHECK(Config::mistakes(file)[0] == file.string() + ": cannot be read: No such file or directory");
}

TEST_CASE("A damaged file gives a configuration or one line, never anything else") {
  std::mt19937 random(20260101);
  const std::string whole = Config{}.to_json();
  int accepted = 0;
  int refused = 0;
  for (int i = 0; i < pool::test::by_build(5000, 1500, 500); ++i) {
    std::string text = whole;
    for (unsigned damage = 1 + random() % 4; damage > 0; --damage) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, 1 + random() % 40);
          break;
        case 2:
          text.insert(at, whole.substr(random() % whole.size(), 1 + random() % 40));
          break;
        default:
          text.insert(at, 1, "{}[]\",:09-.eE"[random() % 14]);
          break;
      }
    }
    INFO(text);
    const std::string line = complaint(text);
    if (line.empty()) {
      ++accepted;
      const std::string effective = Config::parse(text).to_json();
      CHECK(Config::parse(effective).to_json() == effective);
    } else {
      ++refused;
      CHECK(line.compare(0, 8, "c.json: ") == 0);
      CHECK(line.find('\n') == std::string::npos);
      CHECK(line.size() < 600);
    }
  }
  CHECK(accepted > pool::test::by_build(10, 1, 0));
  CHECK(refused > pool::test::by_build(1000, 300, 100));
}
