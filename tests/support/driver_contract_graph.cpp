// Clauses on graphs: when they run, what updates them, and what may be destroyed when.
#include <algorithm>

#include "tests/support/driver_contract.hpp"
#include "tests/support/driver_pieces.hpp"

namespace forebay::test {
namespace {

using driver::CudaApi;

/// A stream, and 64 bytes that graphs write.
class Bench {
 public:
  explicit Bench(const CudaApi& driver_api)
      : api(driver_api), context_(api), range_(api, granule(api)), handle_(api, granule(api)) {
    handle_.map(range_.at());
    reset();
  }

  /// A graph that fills bytes from `first` on, once for each value.
  CUgraph capture(const std::vector<unsigned char>& values, std::size_t first = 0) {
    REQUIRE(api.cuStreamBeginCapture(stream.get(), CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS);
    for (const unsigned char value : values) fill(api, range_.at(first), value, 8, stream.get());
    CUgraph graph = nullptr;
    REQUIRE(api.cuStreamEndCapture(stream.get(), &graph) == CUDA_SUCCESS);
    return graph;
  }
  CUgraphExec instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    REQUIRE(api.cuGraphInstantiateWithFlags(&exec, graph, 0) == CUDA_SUCCESS);
    return exec;
  }
  void reset() { fill(api, range_.at(), 1, 64, stream.get()); }
  [[nodiscard]] std::ptrdiff_t count(unsigned char value) {
    const auto bytes = read(api, range_.at(), 64, stream.get());
    return std::count(bytes.begin(), bytes.end(), value);
  }

  const CudaApi& api;

 private:
  CurrentContext context_;

 public:
  TestStream stream{api};

 private:
  TestRange range_;
  TestHandle handle_;
};

void a_graph_runs_when_launched_and_again(const DriverUnderTest& driver) {
  Bench bench(*driver.api);
  CUgraph graph = bench.capture({2});
  CUgraphExec exec = bench.instantiate(graph);
  CHECK(bench.count(2) == 0);
  for (int round = 0; round < 2; ++round) {
    CHECK(bench.api.cuGraphLaunch(exec, bench.stream.get()) == CUDA_SUCCESS);
    CHECK(bench.count(2) == 8);
    bench.reset();
  }
  CHECK(bench.count(2) == 0);
  CHECK(bench.api.cuGraphExecDestroy(exec) == CUDA_SUCCESS);
  CHECK(bench.api.cuGraphDestroy(graph) == CUDA_SUCCESS);
}

void an_executable_graph_outlives_its_template(const DriverUnderTest& driver) {
  Bench bench(*driver.api);
  CUgraph graph = bench.capture({2, 3});
  std::size_t nodes = 0;
  CHECK(bench.api.cuGraphGetNodes(graph, nullptr, &nodes) == CUDA_SUCCESS);
  CHECK(nodes == 2);
  CUgraphExec exec = bench.instantiate(graph);
  CHECK(bench.api.cuGraphDestroy(graph) == CUDA_SUCCESS);
  CHECK(bench.api.cuGraphLaunch(exec, bench.stream.get()) == CUDA_SUCCESS);
  CHECK(bench.count(3) == 8);
  CHECK(bench.api.cuGraphExecDestroy(exec) == CUDA_SUCCESS);
}

void an_update_holds_for_later_launches(const DriverUnderTest& driver) {
  Bench bench(*driver.api);
  CUgraph first = bench.capture({2});
  CUgraph second = bench.capture({3}, 32);
  CUgraphExec exec = bench.instantiate(first);
  driver.block(bench.stream.get());
  CHECK(bench.api.cuGraphLaunch(exec, bench.stream.get()) == CUDA_SUCCESS);
  CUgraphExecUpdateResultInfo info{};
  CHECK(bench.api.cuGraphExecUpdate(exec, second, &info) == CUDA_SUCCESS);
  CHECK(info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
  driver.unblock(bench.stream.get());
  CHECK(bench.count(2) == 8);
  CHECK(bench.count(3) == 0);
  CHECK(bench.api.cuGraphLaunch(exec, bench.stream.get()) == CUDA_SUCCESS);
  CHECK(bench.count(3) == 8);
  CHECK(bench.api.cuGraphExecDestroy(exec) == CUDA_SUCCESS);
  CHECK(bench.api.cuGraphDestroy(first) == CUDA_SUCCESS);
  CHECK(bench.api.cuGraphDestroy(second) == CUDA_SUCCESS);
}

void an_update_to_another_topology_is_refused(const DriverUnderTest& driver) {
  Bench bench(*driver.api);
  CUgraph first = bench.capture({2});
  CUgraph second = bench.capture({3, 4});
  CUgraphExec exec = bench.instantiate(first);
  CUgraphExecUpdateResultInfo info{};
  CHECK(bench.api.cuGraphExecUpdate(exec, second, &info) == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  CHECK(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  CHECK(bench.api.cuGraphExecDestroy(exec) == CUDA_SUCCESS);
  CHECK(bench.api.cuGraphDestroy(first) == CUDA_SUCCESS);
  CHECK(bench.api.cuGraphDestroy(second) == CUDA_SUCCESS);
}

void a_graph_may_be_destroyed_while_it_runs(const DriverUnderTest& driver) {
  Bench bench(*driver.api);
  CUgraph graph = bench.capture({2});
  CUgraphExec exec = bench.instantiate(graph);
  driver.block(bench.stream.get());
  CHECK(bench.api.cuGraphLaunch(exec, bench.stream.get()) == CUDA_SUCCESS);
  CHECK(bench.api.cuGraphExecDestroy(exec) == CUDA_SUCCESS);
  CHECK(bench.api.cuGraphDestroy(graph) == CUDA_SUCCESS);
  driver.unblock(bench.stream.get());
  CHECK(bench.count(2) == 8);
}

void an_empty_graph_runs_too(const DriverUnderTest& driver) {
  Bench bench(*driver.api);
  CUgraph graph = bench.capture({});
  CUgraphExec exec = bench.instantiate(graph);
  CHECK(bench.api.cuGraphLaunch(exec, bench.stream.get()) == CUDA_SUCCESS);
  CHECK(bench.count(1) == 64);
  CHECK(bench.api.cuGraphExecDestroy(exec) == CUDA_SUCCESS);
  CHECK(bench.api.cuGraphDestroy(graph) == CUDA_SUCCESS);
}

constexpr ContractClause kGraphClauses[] = {
    {"a graph runs when it is launched, and again", a_graph_runs_when_launched_and_again},
    {"an executable graph outlives its template", an_executable_graph_outlives_its_template},
    {"an update holds for later launches", an_update_holds_for_later_launches},
    {"an update to another topology is refused", an_update_to_another_topology_is_refused},
    {"a graph may be destroyed while it runs", a_graph_may_be_destroyed_while_it_runs},
    {"an empty graph runs too", an_empty_graph_runs_too},
};

}  // namespace

std::span<const ContractClause> graph_contract() { return kGraphClauses; }

}  // namespace forebay::test
