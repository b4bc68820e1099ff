// The runtime and a pool of its host device.
#include <cstdio>
#include <forebay/runtime/runtime.hpp>

int main() {
  forebay::Runtime runtime = forebay::Runtime::create();
  forebay::Device& host = runtime.device("host");
  forebay::pool::Pool memory = host.pool();
  const forebay::pool::StreamId stream = host.default_stream().id();
  memory.deallocate(memory.allocate(1000, stream), stream);
  if (host.stats_json().find("forebay.stats/1") == std::string::npos) return 1;
  return std::printf("runtime: %s\n", host.info().name.c_str()) < 0;
}
