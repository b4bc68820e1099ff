// The fake driver keeps the contract that the driver keeps.
#include "tests/support/catch.hpp"
#include "tests/support/driver_contract.hpp"
#include "tests/support/fake_driver.hpp"

using namespace forebay::test;

namespace {

void hold_against(std::span<const ContractClause> clauses) {
  for (const ContractClause& clause : clauses) {
    DYNAMIC_SECTION(clause.name) {
      FakeDriver::Options two;
      two.devices = 2;
      FakeDriver fake(two);
      clause.check({fake.api(), [&](CUstream stream) { fake.hold(stream); },
                    [&](CUstream stream) { fake.let_go(stream); }});
      CHECK(fake.leaks() == "");
    }
  }
}

}  // namespace

TEST_CASE("the fake driver keeps the contract on memory") { hold_against(memory_contract()); }
TEST_CASE("the fake driver keeps the contract on streams") { hold_against(stream_contract()); }
TEST_CASE("the fake driver keeps the contract on captures") { hold_against(capture_contract()); }
TEST_CASE("the fake driver keeps the contract on graphs") { hold_against(graph_contract()); }
TEST_CASE("the fake driver keeps the contract on sharing") { hold_against(sharing_contract()); }
