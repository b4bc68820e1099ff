// The bare Adam kernel on a device's memory, against the host's bits.
#pragma once

#include <vector>

#include "forebay/compute/tensor.hpp"
#include "tests/nn/adam_bench.hpp"
#include "tests/support/catch.hpp"

namespace forebay::testing {

/// Runs the kernel on a device on copies of the host's arrays, which lie as they do there.
class AdamOnDevice {
 public:
  explicit AdamOnDevice(Device& device) : device_(device) {}
  void operator()(std::span<void* const> arguments, unsigned blocks) const {
    const auto* rows = *static_cast<const nn::FbAdamRow* const*>(arguments[0]);
    const auto* chunks = *static_cast<const nn::FbAdamChunk* const*>(arguments[1]);
    unsigned chunk_count = *static_cast<const unsigned*>(arguments[2]);
    const auto* lr = *static_cast<const float* const*>(arguments[3]);
    auto* state = *static_cast<nn::FbAdamState* const*>(arguments[4]);
    const std::size_t row_count = chunks[chunk_count - 1].row + 1;

    std::vector<Copy> copies;
    std::vector<nn::FbAdamRow> device_rows;
    for (std::size_t r = 0; r < row_count; ++r) {
      const nn::FbAdamRow& row = rows[r];
      const auto bytes = static_cast<std::size_t>(row.count) * sizeof(float);
      device_rows.push_back(
          {.p = static_cast<float*>(add(copies, row.p, bytes)),
           .g = static_cast<const float*>(add(copies, const_cast<float*>(row.g), bytes)),
           .m = static_cast<float*>(add(copies, row.m, bytes)),
           .v = static_cast<float*>(add(copies, row.v, bytes)),
           .powers = static_cast<nn::FbAdamPowers*>(
               add(copies, row.powers, 2 * sizeof(nn::FbAdamPowers))),
           .count = row.count});
    }
    const void* row_table =
        add(copies, device_rows.data(), device_rows.size() * sizeof(nn::FbAdamRow));
    const void* chunk_table =
        add(copies, const_cast<nn::FbAdamChunk*>(chunks), chunk_count * sizeof(nn::FbAdamChunk));
    const void* rate = add(copies, const_cast<float*>(lr), sizeof(float));
    void* progress = add(copies, state, sizeof(nn::FbAdamState));
    const std::array<void*, 5> on_device{&row_table, &chunk_table, &chunk_count, &rate, &progress};
    {
      const auto lock = compute::lock_backend(device_);
      compute::backend_of(device_).run(nn::adam_kernel(), on_device, blocks,
                                       device_.default_stream());
    }
    for (const Copy& copy : copies) {
      const auto lock = compute::lock_backend(device_);
      compute::backend_of(device_).download(copy.address, copy.host, copy.bytes,
                                            device_.default_stream());
    }
  }

 private:
  struct Copy {
    void* host;
    std::size_t bytes;
    Tensor storage;
    void* address;
  };

  // The copy begins as far behind a 16-byte border as the original.
  void* add(std::vector<Copy>& copies, void* host, std::size_t bytes) const {
    const std::size_t skew = reinterpret_cast<std::uintptr_t>(host) % 16;
    Tensor storage = empty({static_cast<std::int64_t>((bytes + skew + 3) / 4)}, device_).eval();
    void* const address = static_cast<std::byte*>(storage.data()) + skew;
    const auto lock = compute::lock_backend(device_);
    compute::backend_of(device_).upload(host, DType::i32, address, DType::i32, bytes / 4,
                                        device_.default_stream());
    copies.push_back({host, bytes, std::move(storage), address});
    return address;
  }

  Device& device_;
};

inline void check_adam_alignments(Device& device) {
  const std::vector<std::size_t> sizes{1, 2, 3, 4, 5, 7, 8, 1023, 4095, 4096, 4097, 12293};
  const AdamBench::Skews skews[] = {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2},
                                    {3, 3, 3, 3}, {0, 1, 0, 0}, {3, 2, 1, 0}};
  AdamBench expected(sizes, {0, 0, 0, 0});
  for (int step = 0; step < 3; ++step) expected.step(nn::adam_kernel().host, 1);
  for (const AdamBench::Skews& skew : skews) {
    for (const unsigned blocks : {1U, 5U, 17U}) {
      INFO("skews " << skew[0] << skew[1] << skew[2] << skew[3] << ", blocks " << blocks << " on "
                    << device.id());
      AdamBench bench(sizes, skew);
      for (int step = 0; step < 3; ++step) bench.step(AdamOnDevice(device), blocks);
      CHECK(bench.values() == expected.values());
      CHECK(bench.borders_hold());
      CHECK(bench.state.step == 3);
      CHECK(bench.state.ticket == 0);
    }
  }
}

}  // namespace forebay::testing
