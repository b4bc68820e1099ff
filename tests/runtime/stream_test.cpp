#include "forebay/runtime/stream.hpp"

#include "forebay/pool/error.hpp"
#include "forebay/runtime/runtime.hpp"
#include "tests/support/catch.hpp"

using namespace forebay;

TEST_CASE("A stream of no device has no id and cannot be waited for") {
  const Stream none;
  CHECK_FALSE(static_cast<bool>(none));
  CHECK(none.id() == 0);
  CHECK(none.native() == nullptr);
  CHECK(none.device() == nullptr);
  CHECK_THROWS_AS(none.synchronize(), ClosedError);
}

TEST_CASE("Copies of a stream are one stream, which ends with the last") {
  struct State final : Stream::State {
    explicit State(int& ends) : ends_(ends) {
      id = 42;
      native = &ends_;
    }
    ~State() override { ++ends_; }
    void synchronize() const override { ++waits; }
    mutable int waits = 0;
    int& ends_;
  };
  int ends = 0;
  auto state = std::make_shared<State>(ends);
  const State& seen = *state;
  Stream first(std::move(state));
  {
    const Stream second = first;
    CHECK(second.id() == 42);
    CHECK(second.native() == &ends);
    second.synchronize();
    first.synchronize();
    CHECK(seen.waits == 2);
  }
  CHECK(ends == 0);
  first = {};
  CHECK(ends == 1);
}

TEST_CASE("A stream knows its device, until that has gone") {
  Stream own, created;
  {
    Runtime runtime = Runtime::create();
    Device& device = runtime.device("host");
    own = device.default_stream();
    created = device.create_stream();
    CHECK(own.device().get() == &device);
    CHECK(created.device().get() == &device);
    runtime.close();
    CHECK(created.device()->closed());
  }
  CHECK(own.device() == nullptr);
  CHECK(created.device() == nullptr);
  CHECK_THROWS_AS(created.synchronize(), ClosedError);
}
