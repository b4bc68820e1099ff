#include <cstdint>
#include <vector>

#include "tests/support/cuda_share.hpp"

namespace forebay::test {
namespace {

std::uint32_t word(std::size_t index, Author author) {
  return static_cast<std::uint32_t>(index) * 2654435761U ^ static_cast<std::uint32_t>(author);
}

CUstream queue(const cuda::CudaDevice& device) {
  return static_cast<CUstream>(device.default_stream().native());
}

}  // namespace

void write_words(cuda::CudaDevice& device, void* block, std::size_t bytes, Author author) {
  std::vector<std::uint32_t> words(bytes / sizeof(std::uint32_t));
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = word(i, author);
  }
  device.make_current();
  check(device.api(),
        device.api().cuMemcpyHtoDAsync(reinterpret_cast<CUdeviceptr>(block), words.data(),
                                       words.size() * sizeof words[0], queue(device)),
        "cuMemcpyHtoDAsync");
  device.default_stream().synchronize();
}

std::size_t wrong_words(cuda::CudaDevice& device, void* block, std::size_t bytes, Author author) {
  std::vector<std::uint32_t> words(bytes / sizeof(std::uint32_t));
  device.make_current();
  check(device.api(),
        device.api().cuMemcpyDtoHAsync(words.data(), reinterpret_cast<CUdeviceptr>(block),
                                       words.size() * sizeof words[0], queue(device)),
        "cuMemcpyDtoHAsync");
  device.default_stream().synchronize();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    wrong += words[i] != word(i, author) ? 1 : 0;
  }
  return wrong;
}

}  // namespace forebay::test
