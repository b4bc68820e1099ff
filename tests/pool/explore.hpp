// Every sequence of operations on a world that is small enough to try them all.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "tests/support/catch.hpp"

namespace forebay::pool::test {

/// Breadth first over the programs of a world: `World` is made anew for each, does its operations
/// one by one (`apply` answers false where one means nothing), is checked after the last of them
/// (`check`), and says what it looks like (`look`). `before_last`, where a world has it, is called
/// before the last operation. Returns how many states were seen.
template <typename World>
std::size_t explore(unsigned operations, unsigned depth) {
  using Program = std::basic_string<unsigned char>;
  std::vector<Program> frontier{{}};
  std::unordered_set<std::string> seen;
  for (unsigned length = 0; length < depth && !frontier.empty(); ++length) {
    std::vector<Program> next;
    for (const Program& program : frontier) {
      for (unsigned operation = 0; operation < operations; ++operation) {
        World world;
        for (const unsigned char earlier : program) world.apply(earlier);
        if constexpr (requires { world.before_last(); }) world.before_last();
        if (!world.apply(operation)) continue;
        INFO("after " << program.size() << " operations, the last of them " << operation);
        world.check();
        if (!seen.insert(world.look()).second) continue;
        next.push_back(program);
        next.back().push_back(static_cast<unsigned char>(operation));
      }
    }
    frontier.swap(next);
  }
  return seen.size();
}

}  // namespace forebay::pool::test
