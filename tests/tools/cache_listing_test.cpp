#include "tools/forebay/cache_listing.hpp"

#include <fstream>

#include "runtime/cache_entry.hpp"
#include "runtime/kernel_key.hpp"
#include "tests/support/catch.hpp"
#include "tests/tools/child.hpp"
#include "tools/forebay/json_reader.hpp"

using namespace forebay;
using namespace forebay::tools;
using forebay::test::Folder;

namespace {

std::unique_ptr<CacheFolder> open(const Folder& folder) {
  auto opened = CacheFolder::open(folder.file("cache"), CacheFolder::Missing::make);
  REQUIRE(opened.folder != nullptr);
  return std::move(opened.folder);
}

std::string publish(const CacheFolder& folder, const KernelKey& key) {
  const std::string material = material_of(key);
  const std::string name = cache_entry::name_of(material);
  REQUIRE(folder.publish(name, cache_entry::encode(material, "cubin")) == 0);
  return name;
}

}  // namespace

TEST_CASE("a listing tells what each kernel was made for, and what is wrong with a file") {
  const Folder top;
  const auto folder = open(top);
  const std::string good =
      publish(*folder, {"add", "sm_90", "NVRTC 13.0 123 4.5", "--std=c++17\n", "source"});
  const std::string odd = publish(*folder, {"a\x1b[1mb", "sm_80", "other", "", ""});
  const std::string strange = cache_entry::name_of("no key");
  REQUIRE(folder->publish(strange, cache_entry::encode("no key", "cubin")) == 0);
  const std::string moved = cache_entry::name_of("moved");
  REQUIRE(folder->publish(moved, cache_entry::encode("no key", "cubin")) == 0);
  const std::string cut = cache_entry::name_of("cut");
  REQUIRE(folder->publish(cut, "short") == 0);
  std::ofstream(top.file("cache/.forebay-tmp-1")) << "half";
  std::ofstream(top.file("cache/notes.txt")) << "text";

  CacheListing listing = list_cache(*folder);
  CHECK(listing.unfinished == 1);
  REQUIRE(listing.kernels.size() == 5);
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    const CachedKernel& kernel = listing.kernels[i];
    bytes += kernel.bytes;
    if (i > 0) CHECK(kernel.used_ns <= listing.kernels[i - 1].used_ns);
    CHECK(kernel.wrong() == (kernel.name != good && kernel.name != odd));
    if (kernel.name == good) {
      CHECK(kernel.kernel == "add");
      CHECK(kernel.architecture == "sm_90");
      CHECK(kernel.compiler == "NVRTC 13.0 123 4.5");
    }
    if (kernel.name == strange) CHECK(kernel.problem == "no kernel");
    if (kernel.name == moved) CHECK(kernel.problem == "another entry's content");
    if (kernel.name == cut) CHECK(kernel.problem.find("cut off: 5 bytes") == 0);
  }
  CHECK(listing.bytes == bytes);

  listing.folder = "/some/folder";
  listing.max_bytes = std::uint64_t{256} << 20;
  listing.max_entries = 4096;
  const std::string table = cache_table(listing);
  INFO(table);
  CHECK(test::lines(table) == 7);
  for (const std::string& part :
       {std::string("  sm_90         NVRTC 13.0  add\n"), std::string("a\\x1b[1mb\n"),
        strange + ": no kernel\n", std::string(" of 256 MiB, 1 unfinished in '/some/folder'\n"),
        std::string("\n5 of 4096 kernels, ")}) {
    INFO(part);
    CHECK(table.find(part) != std::string::npos);
  }
  const JsonDocument json(cache_json(listing), "listing");
  CHECK(json.text("/folder") == "/some/folder");
  CHECK(json.count("/bytes") == bytes);
  CHECK(json.count("/max_entries") == 4096U);
  CHECK(json.count("/unfinished") == 1U);
  REQUIRE(json.size("/kernels") == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    const std::string at = "/kernels/" + std::to_string(i);
    CHECK(json.text(at + "/name") == listing.kernels[i].name);
    CHECK(json.text(at + "/kernel") == listing.kernels[i].kernel);
    CHECK(json.text(at + "/problem") == listing.kernels[i].problem);
    CHECK(json.text(at + "/used")->size() == std::string("2026-11-30T12:00:00Z").size());
  }
}
