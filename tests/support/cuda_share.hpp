// A block goes to another process: cuda_share_program.cpp imports what a test exports.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/cuda/cuda_device.hpp"

namespace forebay::test {

/// Words that tell where they stand and who wrote them.
enum class Author : std::uint32_t { exporter = 0x5a5a5a5a, importer = 0x3c3c3c3c };
void write_words(cuda::CudaDevice& device, void* block, std::size_t bytes, Author author);
/// Words of the block that are not the author's.
[[nodiscard]] std::size_t wrong_words(cuda::CudaDevice& device, void* block, std::size_t bytes,
                                      Author author);

/// Exports a block of `bytes` that begins `before` bytes behind another one, to the program on
/// cuda:`importer`. Checks what either side wrote, and that the importer's memory stays when the
/// exporter has given everything back. `library_folder`: where the program finds its driver; empty
/// for the system's.
void shares_with_a_process(cuda::CudaDevice& device, std::size_t before, std::size_t bytes,
                           const std::string& library_folder, int importer = 0);

}  // namespace forebay::test
