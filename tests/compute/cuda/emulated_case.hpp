// A program's data as the emulator's kernels take it, and what they leave.
#pragma once

#include <algorithm>
#include <vector>

#include "compute/cuda/kernel_arguments.hpp"
#include "tests/compute/cuda/program_case.hpp"

namespace forebay::test {

/// Words at an address aligned to 16 bytes, plus the offset.
struct AlignedWords {
  explicit AlignedWords(const CaseBuffer& buffer) : words(buffer.words.size() + 4) {
    const auto address = reinterpret_cast<std::uintptr_t>(words.data());
    start = words.data() + (16 - address % 16) % 16 / 4;
    std::copy(buffer.words.begin(), buffer.words.end(), start);
    first = start + buffer.offset;
    count = buffer.words.size();
    offset = buffer.offset;
  }
  [[nodiscard]] CaseBuffer back() const { return {{start, start + count}, offset}; }

  std::vector<Word> words;
  Word* start;
  Word* first;
  std::size_t count;
  std::size_t offset;
};

/// What a kernel has left in every buffer.
struct Outcome {
  std::vector<CaseBuffer> outputs;
  CaseBuffer reduction;
  std::uint64_t mailbox = 0;
};

/// One run's buffers and binding. Scratch memory is as a stream's: tickets that are 0, partial sums
/// of what was before.
class EmulatedCase {
 public:
  static constexpr std::uint32_t kTicket = 0x80000007U;

  explicit EmulatedCase(const ProgramCase& data)
      : data_(data),
        leaves_(data.leaves().begin(), data.leaves().end()),
        reduction_(data.reduction_buffer()),
        tickets_(cuda::kSplitBlocks, 0) {
    binding = data.binding();
    for (const AlignedWords& leaf : leaves_) binding.leaves.push_back(leaf.first);
    for (std::size_t k = 0; k < data.program().outputs.size(); ++k) {
      outputs_.emplace_back(data.output_buffer());
    }
    for (const AlignedWords& output : outputs_) binding.outputs.push_back(output.first);
    binding.reduction = reduction_.first;
    if (data.kept() == 1) {
      binding.mailbox = &mailbox_;
      binding.ticket = kTicket;
    }
  }
  EmulatedCase(const EmulatedCase&) = delete;
  EmulatedCase& operator=(const EmulatedCase&) = delete;

  [[nodiscard]] cuda::ReduceScratch scratch(const cuda::ReducePlan& plan) {
    partials_.assign(plan.partials() + 1, 1e30);
    return {partials_.data(), tickets_.data()};
  }
  [[nodiscard]] Outcome outcome() const {
    Outcome outcome;
    for (const AlignedWords& output : outputs_) outcome.outputs.push_back(output.back());
    outcome.reduction = reduction_.back();
    outcome.mailbox = mailbox_;
    return outcome;
  }
  /// Empty, or what a run did not leave as it should.
  [[nodiscard]] std::string check() const {
    const Outcome left = outcome();
    for (std::size_t k = 0; k < left.outputs.size(); ++k) {
      if (std::string wrong = data_.check_output(k, left.outputs[k]); !wrong.empty()) return wrong;
    }
    if (!data_.program().reduction) return {};
    if (std::string wrong = data_.check_reduction(left.reduction); !wrong.empty()) return wrong;
    if (!partials_.empty() && partials_.back() != 1e30) return "written behind the partial sums";
    if (std::any_of(tickets_.begin(), tickets_.end(), [](auto ticket) { return ticket != 0; })) {
      return "a ticket is not 0 again";
    }
    const std::uint64_t want = std::uint64_t{kTicket} << 32 | reduction_.first->bits;
    return data_.kept() == 1 && mailbox_ != want ? "the mailbox has another result" : "";
  }

  compute::Binding binding;

 private:
  const ProgramCase& data_;
  std::vector<AlignedWords> leaves_, outputs_;
  AlignedWords reduction_;
  std::vector<double> partials_;
  std::vector<std::uint32_t> tickets_;
  std::uint64_t mailbox_ = 0;
};

}  // namespace forebay::test
