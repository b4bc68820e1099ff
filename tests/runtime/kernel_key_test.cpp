#include "runtime/kernel_key.hpp"

#include <set>
#include <vector>

#include "tests/support/catch.hpp"

using namespace forebay;

namespace {
const KernelKey kKey{"store", "sm_90", "NVRTC 13.0 7 8.9", "--std=c++17\n", "source\n"};
}

TEST_CASE("a key is read back from its material") {
  CHECK(kernel_key_of(material_of(kKey)) == kKey);
  CHECK(kernel_key_of(material_of({})) == KernelKey{});
  const KernelKey odd{std::string("\0\n", 2), "7\n", "", "\n\n", "3\nabc\n"};
  CHECK(kernel_key_of(material_of(odd)) == odd);
}

TEST_CASE("whatever differs between two keys, their materials differ") {
  std::vector<KernelKey> keys{kKey};
  const auto other = [&keys](std::string KernelKey::*part, const char* value) {
    KernelKey key = kKey;
    key.*part = value;
    keys.push_back(key);
  };
  other(&KernelKey::entry, "add");
  other(&KernelKey::architecture, "sm_90a");
  other(&KernelKey::architecture, "sm_100");
  other(&KernelKey::compiler, "NVRTC 13.1 7 8.9");
  other(&KernelKey::compiler, "NVRTC 13.0 7 9.9");
  other(&KernelKey::options, "--std=c++20\n");
  other(&KernelKey::options, "");
  other(&KernelKey::source, "source \n");
  other(&KernelKey::source, "");
  // What one part loses, its neighbour has.
  keys.push_back({"stores", "m_90", kKey.compiler, kKey.options, kKey.source});
  keys.push_back({kKey.entry, kKey.architecture, kKey.compiler, "", kKey.options + kKey.source});
  keys.push_back({kKey.source, kKey.architecture, kKey.compiler, kKey.options, kKey.entry});
  std::set<std::string> materials;
  for (const KernelKey& key : keys) materials.insert(material_of(key));
  CHECK(materials.size() == keys.size());
}

TEST_CASE("what no key makes is no material") {
  const std::string good = material_of(kKey);
  for (std::size_t length = 0; length < good.size(); ++length) {
    CHECK_FALSE(kernel_key_of(good.substr(0, length)));
  }
  CHECK_FALSE(kernel_key_of(good + "x"));
  CHECK_FALSE(kernel_key_of("forebay kernel 2" + good.substr(16)));
  for (const char* length :
       {"05", "-5", "+5", "5 ", "99999999999999999999", "18446744073709551615"}) {
    std::string bad = good;
    CHECK_FALSE(kernel_key_of(bad.replace(17, 1, length)));
  }
}
