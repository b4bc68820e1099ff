// Imports a block over the socket that its command line names, on the device that it names, reads
// it, overwrites it, and reads it again when the exporter has given its memory back.
#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "forebay/runtime/runtime.hpp"
#include "tests/support/cuda_share.hpp"

using namespace forebay;
using namespace forebay::test;

namespace {

int fail(const char* what, std::size_t words) {
  std::fprintf(stderr, "cuda_share: %s: %zu words are wrong\n", what, words);
  return 1;
}

int import(int socket, int index) {
  Config config;
  config.kernels.prepare = false;
  Runtime runtime = Runtime::create(config);
  auto& device = static_cast<cuda::CudaDevice&>(runtime.device("cuda:" + std::to_string(index)));
  ImportedBlock block = device.import_block(receive_block(socket));
  const auto wrong = [&](Author author) {
    return wrong_words(device, block.data(), block.bytes(), author);
  };
  if (const std::size_t words = wrong(Author::exporter)) return fail("as it came", words);
  write_words(device, block.data(), block.bytes(), Author::importer);
  char token = 'w';
  if (send(socket, &token, 1, 0) != 1 || recv(socket, &token, 1, 0) != 1) return 2;
  if (const std::size_t words = wrong(Author::importer)) return fail("at the end", words);
  block.close();
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) return 98;
  try {
    return import(std::atoi(words[1]), std::atoi(words[2]));
  } catch (const Error& error) {
    std::fprintf(stderr, "cuda_share: %s\n", error.what());
    return 99;
  }
}
