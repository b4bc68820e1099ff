#include "compute/prelude_text.hpp"

#include <fstream>
#include <sstream>

#include "tests/compute/support.hpp"

using namespace forebay;
using testing::contains;

TEST_CASE("the text of the prelude is its parts in their order") {
  const std::string root = FOREBAY_SOURCE_DIR;
  std::ifstream list(root + "/compute/prelude.inl");
  std::string text;
  int parts = 0;
  const auto add = [&](const std::string& path) {
    ++parts;
    std::ifstream file(root + "/" + path);
    std::stringstream part;
    part << file.rdbuf();
    text += part.str();
  };
  for (std::string line; std::getline(list, line);) {
    const std::string begin = "#include \"";
    if (line.rfind(begin, 0) == 0) add(line.substr(begin.size(), line.size() - begin.size() - 1));
  }
  add("compute/cuda/blocks.inl");
  add("compute/cuda/tiles.inl");
  CHECK(parts >= 5);
  CHECK(compute::prelude_text() == text);
  // A compiler at run time has no headers.
  CHECK_FALSE(testing::contains(text, "#include"));
}

TEST_CASE("a source gets the parts that it names, and what those name") {
  const auto parts = compute::prelude_parts();
  const std::string none = compute::prelude_for("int nothing();");
  CHECK(none == parts.front());  // types are for all
  const std::string sum = compute::prelude_for("fb_add(a, b)");
  CHECK(contains(sum, "FB_INTEGER(T, U)"));
  CHECK_FALSE(contains(sum, "fb_exp("));
  const std::string gelu = compute::prelude_for("x = fb_gelu(y);");
  CHECK(contains(gelu, "fb_exp_core(double"));
  CHECK_FALSE(contains(gelu, "fb_philox"));
  CHECK_FALSE(contains(gelu, "fb_sin_core(double"));
  const std::string random = compute::prelude_for("fb_random_normal(a, b, i)");
  CHECK(contains(random, "fb_sin_core(double"));
  CHECK(contains(random, "fb_log(double"));
  CHECK(contains(compute::prelude_for("FB_NARROW_1(fb_exp2)"), "#define FB_NARROW_1"));
  CHECK(contains(compute::prelude_for("FbBest<float>"), "struct FbBest"));
  for (const std::string& text : {none, sum, gelu, random}) {
    CHECK(compute::prelude_for(text) == text);
  }
  // What is chosen keeps the order of the parts.
  CHECK(random.find("fb_log(double") < random.find("fb_philox"));
}
