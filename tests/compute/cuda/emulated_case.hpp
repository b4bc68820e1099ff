// A program's data as the emulator's kernels take it, and what they leave.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "compute/cuda/kernel_arguments.hpp"
#include "tests/compute/cuda/program_case.hpp"

namespace forebay::test {

/// The bytes of a buffer at an address aligned to 16, offset and all.
struct AlignedBytes {
  explicit AlignedBytes(const CaseBuffer& buffer) : bytes(buffer.bytes.size() + 16) {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
    start = bytes.data() + (16 - address % 16) % 16;
    std::copy(buffer.bytes.begin(), buffer.bytes.end(), start);
    first = start + buffer.offset;
    count = buffer.bytes.size();
    offset = buffer.offset;
  }
  [[nodiscard]] CaseBuffer back() const { return {{start, start + count}, offset}; }

  std::vector<std::byte> bytes;
  std::byte* start;
  std::byte* first;
  std::size_t count;
  std::size_t offset;
};

/// Scratch memory of a reduction as a stream's: 0, and a mark behind the last total.
class Scratch {
 public:
  [[nodiscard]] void* of(const cuda::ReducePlan& plan) {
    partials_.assign(plan.partials() * kWords + 1, 0);
    partials_.back() = kMark;
    return partials_.data();
  }
  /// Empty, or what a run did not leave as it should.
  [[nodiscard]] std::string check() const {
    if (partials_.empty()) return "";
    if (partials_.back() != kMark) return "written behind the totals";
    const bool idle =
        std::all_of(partials_.begin(), partials_.end() - 1, [](auto word) { return word == 0; });
    return idle ? "" : "what blocks left is not 0 again";
  }

 private:
  static constexpr std::size_t kWords = cuda::kMostPartial / sizeof(std::uint64_t);
  static constexpr std::uint64_t kMark = 0x7e;
  std::vector<std::uint64_t> partials_;
};

/// What a kernel has left: the outputs, then the reduction.
struct Outcome {
  std::vector<CaseBuffer> buffers;
  std::uint64_t mailbox = 0;
};

/// One run's buffers and binding.
class EmulatedCase {
 public:
  static constexpr std::uint32_t kTicket = 0x80000007U;

  explicit EmulatedCase(const ProgramCase& data)
      : data_(data),
        leaves_(data.leaves().begin(), data.leaves().end()),
        reduction_(data.reduction_buffer()) {
    binding = data.binding();
    for (const AlignedBytes& leaf : leaves_) binding.leaves.push_back(leaf.first);
    for (std::size_t k = 0; k < data.program().outputs.size(); ++k) {
      outputs_.emplace_back(data.output_buffer(k));
    }
    for (const AlignedBytes& output : outputs_) binding.outputs.push_back(output.first);
    binding.reduction = reduction_.first;
    if (data.kept() == 1) {
      binding.mailbox = &mailbox_;
      binding.ticket = kTicket;
    }
  }
  EmulatedCase(const EmulatedCase&) = delete;
  EmulatedCase& operator=(const EmulatedCase&) = delete;

  /// Output k is written over that leaf; REQUIRES: it is linear and of the output's type.
  void write_over(std::size_t k, std::size_t leaf) {
    binding.outputs[k] = leaves_[leaf].first;
    over_.emplace_back(k, leaf);
  }
  [[nodiscard]] const compute::Program& program() const noexcept { return data_.program(); }
  [[nodiscard]] void* scratch(const cuda::ReducePlan& plan) { return scratch_.of(plan); }
  [[nodiscard]] Outcome outcome() const {
    Outcome outcome{.buffers = {}, .mailbox = mailbox_};
    for (const AlignedBytes& output : outputs_) outcome.buffers.push_back(output.back());
    for (const auto& [k, leaf] : over_) {
      CaseBuffer& buffer = outcome.buffers[k];
      const std::size_t bytes =
          static_cast<std::size_t>(data_.count()) * size_of(data_.program().leaves[leaf].type);
      std::memcpy(buffer.bytes.data() + buffer.offset, leaves_[leaf].first, bytes);
    }
    if (data_.program().reduction) outcome.buffers.push_back(reduction_.back());
    return outcome;
  }
  /// Empty, or what a run did not leave as it should.
  [[nodiscard]] std::string check() const {
    const Outcome left = outcome();
    for (std::size_t k = 0; k < outputs_.size(); ++k) {
      if (std::string wrong = data_.check_output(k, left.buffers[k]); !wrong.empty()) return wrong;
    }
    if (!data_.program().reduction) return {};
    if (std::string wrong = data_.check_reduction(left.buffers.back()); !wrong.empty()) {
      return wrong;
    }
    if (std::string wrong = scratch_.check(); !wrong.empty()) return wrong;
    // Eight bytes do not fit into a mailbox.
    const std::size_t size = size_of(data_.reduced_type());
    std::uint64_t want = 0;
    std::memcpy(&want, reduction_.first, size);
    want = size > 4 ? 0 : std::uint64_t{kTicket} << 32 | want;
    return data_.kept() == 1 && mailbox_ != want ? "the mailbox has another result" : "";
  }

  compute::Binding binding;

 private:
  const ProgramCase& data_;
  std::vector<AlignedBytes> leaves_, outputs_;
  std::vector<std::pair<std::size_t, std::size_t>> over_;  // outputs and the leaves they go to
  AlignedBytes reduction_;
  Scratch scratch_;
  std::uint64_t mailbox_ = 0;
};

}  // namespace forebay::test
